/* value.h - bytes and meanings of elements, for host.c and value.c alone; see host.h. */
#ifndef KILN_TEST_VALUE_H
#define KILN_TEST_VALUE_H

#include "oracle/host.h"

/* `v` rounded to nearest even with `digits` binary digits and exponents emin..emax; larger
 * values become infinite, smaller ones subnormal or zero. */
long double host_round_to(long double v, int digits, int emin, int emax);

#endif
