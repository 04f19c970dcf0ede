// For builds with sanitizers: shared libraries stay loaded, because a leak or a race in one that is gone
// could not be attributed to it, and so not be told from one of ours (tests/sanitizers/).
extern "C" int dlclose(void*) { return 0; }
