// assert (CPU): says what failed, and ends the process, for there is no device to fail instead.
extern "C" int dprintf(int, const char *, ...);
extern "C" void abort() noexcept __attribute__((noreturn));
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                                          \
    ((condition) ? (void)0                                                                         \
                 : (dprintf(2, "%s:%d: assertion `%s' failed\n", __FILE__, __LINE__, #condition),  \
                    abort()))
#endif
