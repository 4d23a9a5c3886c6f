// The "device" memory: what was allocated, and whether bytes lie in it.
#pragma once

#include <cstddef>

namespace toller_shim {

// Fails the running kernel unless all `bytes` bytes from `first` on are in one allocation.
void check_global(const void *first, size_t bytes);

} // namespace toller_shim
