// For tests that start MPI: leaks.txt matches the stacks of its allocations by module, so that they have to
// be whole. Finding them takes half of the time of a test that allocates much, which other tests save.
extern "C" const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }
