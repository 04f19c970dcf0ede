// Builds LeNet layer by layer and trains it on Fashion-MNIST on all ranks:
//
//   mpirun -np 2 train_lenet [EPOCHS]
#include <lockstep/dataset.h>
#include <lockstep/network.h>
#include <lockstep/trainer.h>
#include <lockstep/world.h>

#include <cstdio>
#include <cstdlib>

using namespace lockstep;

int main(int argc, char** argv) {
  return run_program(argc, argv, [&](World& world) {
    Network network({.channels = 1, .height = 28, .width = 28});
    const auto weight = Initializer::normal(0.01);
    Value x = network.input();
    x = relu(conv2d(x, {.channels = 20, .kernel = 3, .weight = weight}));
    x = avg_pool2d(x, {.kernel = 2});
    x = relu(conv2d(x, {.channels = 50, .kernel = 5, .weight = weight}));
    x = avg_pool2d(x, {.kernel = 2});
    x = relu(linear(flatten(x), {.features = 128, .weight = weight}));
    network.output(linear(x, {.features = 10, .weight = weight}));

    const DatasetPair data = open_dataset(world, {.name = "fashion-mnist"});
    Trainer trainer(world, network, *data.train, *data.test,
                    {.epochs = argc > 1 ? std::atoi(argv[1]) : 10, .learning_rate = 0.2});
    trainer.on_event = observer([&](const EpochReport& epoch) {
      if (world.rank() == 0) {
        std::printf("epoch %d  train loss %.4f  test accuracy %.4f  %.2f s\n", epoch.epoch, epoch.train.loss,
                    epoch.test.accuracy, epoch.seconds);
      }
    });
    trainer.fit();
    if (world.rank() == 0) {
      std::printf("digest %s\n", trainer.digest().c_str());
    }
    return 0;
  });
}
