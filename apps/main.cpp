#include "apps/program.h"

int main(int argc, char** argv) { return lockring::app::run_program({argv + 1, argv + argc}); }
