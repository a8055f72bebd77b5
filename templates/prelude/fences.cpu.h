// fences (CPU): of any reach, for all threads share one memory.
KILN_FN void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KILN_FN void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KILN_FN void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
