// Linked into tests that start MPI: leaks.txt matches the stacks of MPI's allocations by module, which needs
// whole stacks. Unwinding them takes half of the time of a test that allocates much, so other tests do
// without.
extern "C" const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }
