# Flags that every target shares, and the functions that folders use to declare theirs.
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)

add_library(lockring_flags INTERFACE)
add_library(lockring::flags ALIAS lockring_flags)
set_target_properties(lockring_flags PROPERTIES EXPORT_NAME flags)
target_compile_features(lockring_flags INTERFACE cxx_std_20)
target_link_libraries(lockring_flags INTERFACE fmt::fmt Threads::Threads)
target_include_directories(lockring_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/lockring>)

# Never the building machine's own extensions: a binary made here runs on the next machine. Contraction of a*b+c is
# off, so that the bits do not depend on what a compiler makes of it; kernels say std::fma where they mean it.
add_library(lockring_options INTERFACE)
target_compile_options(lockring_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -ffp-contract=off>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Half a gigabyte before the compiler looks for garbage: a tenth of its time.
  target_compile_options(lockring_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(lockring_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v3>)
endif()
if(LOCKRING_SANITIZE)
  string(REPLACE "," ";" sanitizers "${LOCKRING_SANITIZE}")
  list(JOIN sanitizers "," sanitizers)
  target_compile_options(lockring_options INTERFACE -fsanitize=${sanitizers} -fno-omit-frame-pointer)
  target_link_options(lockring_options INTERFACE -fsanitize=${sanitizers})
endif()

# lockring_library(NAME SOURCES... ) declares the static library lockring_NAME of the folder NAME.
function(lockring_library name)
  add_library(lockring_${name} STATIC ${ARGN})
  add_library(lockring::${name} ALIAS lockring_${name})
  set_target_properties(lockring_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(lockring_${name} PUBLIC lockring_flags PRIVATE $<BUILD_INTERFACE:lockring_options>)
endfunction()

# lockring_test(FOLDER SOURCES... [LIBRARIES ...]) declares the test program lockring_FOLDER_tests.
function(lockring_test name)
  cmake_parse_arguments(arg "" "" "LIBRARIES" ${ARGN})
  add_executable(lockring_${name}_tests ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(lockring_${name}_tests PRIVATE ${arg_LIBRARIES} lockring_test_support GTest::gtest_main
    lockring_options)
  if(TARGET lockring_fake_cuda)
    target_sources(lockring_${name}_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests/fake_cuda/no_fallback.cpp)
  endif()
  set(properties TIMEOUT 900)
  if(LOCKRING_CUDA STREQUAL EMULATED AND name MATCHES "^(core|devices|ops|fake_cuda|nccl)$")
    list(APPEND properties LABELS emulated)
  elseif(TARGET lockring_cuda)
    list(APPEND properties ENVIRONMENT NVIDIA_TF32_OVERRIDE=0)  # one tolerance for all devices
  endif()
  gtest_discover_tests(lockring_${name}_tests TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()

# Open MPI keeps some of what it takes, and takes locks in more than one order: sanitizers look for that where there are
# no ranks.
set(lockring_mpi_environment "OMPI_ALLOW_RUN_AS_ROOT=1" "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
  "ASAN_OPTIONS=detect_leaks=0" "TSAN_OPTIONS=detect_deadlocks=0:ignore_noninstrumented_modules=1")

# lockring_mpi_test(NAME RANKS COMMAND...) declares a test that mpirun starts.
function(lockring_mpi_test name ranks)
  add_test(NAME ${name}.${ranks}
    COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --mca btl_base_warn_component_unused 0 -np ${ranks} ${ARGN})
  set_tests_properties(${name}.${ranks} PROPERTIES TIMEOUT 600 PROCESSORS 2 ENVIRONMENT
    "${lockring_mpi_environment};LOCKRING_TEST_RANKS=${ranks}")
endfunction()
