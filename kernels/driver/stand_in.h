// What the stand-in for the driver offers to libraries that use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "driver/results.h"

namespace stand_in {

// Queues work of the current context's device.
Result queue(void *stream, std::function<Result()> work);

// Whether bytes of the device are all in one allocation of the current context.
bool owns(const void *address, size_t bytes);

} // namespace stand_in
