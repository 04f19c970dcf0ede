// For builds with sanitizers: keeps shared libraries loaded, because a leak or race in an unloaded one could
// not be attributed to it (tests/sanitizers/).
extern "C" int dlclose(void*) { return 0; }
