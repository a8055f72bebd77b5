// minmax_names (CPU): min and max with the type in the name.
KILN_FN unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
KILN_FN unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
KILN_FN long long llmin(long long a, long long b) { return min(a, b); }
KILN_FN long long llmax(long long a, long long b) { return max(a, b); }
KILN_FN unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
KILN_FN unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
