//# Wait until another thread has set a mark. The system is asked to run others after a while, for
//# that thread may have lost its core.
//% own give_way k mark wait
extern "C" int give_way(void) __asm__("sched_yield");
static inline void wait(const int *mark)
{
    for (int k = 0; __atomic_load_n(mark, __ATOMIC_ACQUIRE) == 0; k++) {
        if (k > 1000)
            give_way();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}
