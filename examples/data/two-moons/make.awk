# Two interleaved half circles with noise: 400 rows to train on and 100 to test on.
#   awk -f make.awk -v rows=400 -v seed=1 > train.csv
#   awk -f make.awk -v rows=100 -v seed=2 > test.csv
function noise() { return 0.15 * sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
BEGIN {
  srand(seed)
  print "x,y,label"
  for (row = 0; row < rows; ++row) {
    angle = 3.141592653589793 * rand()
    upper = row % 2 == 0
    x = upper ? cos(angle) : 1 - cos(angle)
    y = upper ? sin(angle) : 0.5 - sin(angle)
    printf "%.4f,%.4f,%s\n", x + noise(), y + noise(), upper ? "upper" : "lower"
  }
}
