// For threads that wait most of the time and then have little to do, on cores that others compute on.
#pragma once

namespace lockring::app::http {

// Asks the scheduler to run the calling thread in short turns. It then takes the core from one that computes in long
// ones as soon as it has something to do, instead of waiting for the end of that turn, which takes milliseconds; its
// share of the core is the same. Linux 6.12 knows of turns (a custom slice of EEVDF, sched_setattr(2)); elsewhere this
// does nothing.
void take_short_turns();

}  // namespace lockring::app::http
