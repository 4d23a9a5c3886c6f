// The code that a fatbin holds for a device.
#pragma once

#include <string>

#include "driver/results.h"

namespace stand_in {

// Finds the code that a device of this capability runs: machine code of its major release, else PTX that is not
// newer.
Result find_code(const void *fatbin, int capability, std::string *code);

// Whether code has a kernel of this name.
bool has_kernel(const std::string &code, const std::string &name);

} // namespace stand_in
