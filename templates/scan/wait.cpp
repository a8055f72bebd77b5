//# Wait until another thread has set a mark. The system is asked to run others after a while, for
//# that thread may have lost its core.
extern "C" int kiln__give_way(void) __asm__("sched_yield");
static inline void kiln__wait(const int *kiln__mark)
{
    for (int kiln__k = 0; __atomic_load_n(kiln__mark, __ATOMIC_ACQUIRE) == 0; kiln__k++) {
        if (kiln__k > 1000)
            kiln__give_way();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}
