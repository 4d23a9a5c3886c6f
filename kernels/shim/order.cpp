#include "order.h"

#include <algorithm>

#include "block.h"

namespace toller_shim {

void join(Clock &to, const Clock &from) {
    for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

Mark Mark::now() {
    const Thread &thread = running();
    return {thread.number, block().epoch(), thread.warp().epoch, thread.time};
}

bool Mark::is_before_now() const {
    const Thread &own = running();
    if (thread == NOBODY || thread == own.number) return true;
    if (block_epoch != NO_EPOCH && block_epoch < block().epoch()) return true;
    if (thread / 32 == own.number / 32 && warp_epoch < own.warp().epoch) return true;
    return !own.known.empty() && own.known[thread] >= time;
}

} // namespace toller_shim
