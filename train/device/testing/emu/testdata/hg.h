// The kernel language without the mathematical functions, which the emulator's own
// tests do without.
#include "../src/emu.h"
