// Must not compile: the bound on sums is wrong for fp8, whose products Hopper cuts to 13 bits.
#define TOLLER_SHIM 1
#include "../../device.h"
#include "ip_topk/prepare_queries.cuh"

toller_query_facts facts_of_fp8() { return float_facts<FP8_BITS>(1, 1, 0, 0, 16); }
