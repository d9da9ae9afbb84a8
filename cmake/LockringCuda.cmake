# GPU support. LOCKRING_CUDA is OFF, ON, AUTO (if nvcc and cuDNN are found), or EMULATED: the same sources compiled as
# C++ against the test double of tests/fake_cuda, for tests on machines without a GPU.
#
# LOCKRING_NCCL is AUTO, ON or OFF: NCCL, between GPUs; never without them.
#
# Where there is support, the target lockring_cuda brings the libraries, and lockring_cuda_sources adds files to a
# target of the calling folder.
set(LOCKRING_CUDA OFF CACHE STRING "GPU support: OFF, AUTO, ON, or EMULATED for tests")
set(LOCKRING_NCCL AUTO CACHE STRING "NCCL, where there is GPU support: AUTO, ON or OFF")
set(CMAKE_CUDA_ARCHITECTURES "80;90;100" CACHE STRING "GPU architectures to compile for")

if(LOCKRING_CUDA STREQUAL ON OR LOCKRING_CUDA STREQUAL AUTO)
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(CMAKE_CUDA_COMPILER)
    get_filename_component(toolkit ${CMAKE_CUDA_COMPILER} REALPATH)
    get_filename_component(toolkit ${toolkit}/../.. ABSOLUTE)
    find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${toolkit}/include)
    find_library(CUDNN_LIBRARY cudnn HINTS ${toolkit}/lib64 ${toolkit}/lib)
    mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)
  endif()
  if(CMAKE_CUDA_COMPILER AND CUDNN_INCLUDE_DIR AND CUDNN_LIBRARY)
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc has C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    find_package(CUDAToolkit REQUIRED)
    add_library(lockring_cuda INTERFACE)
    target_include_directories(lockring_cuda SYSTEM INTERFACE ${CUDNN_INCLUDE_DIR})
    target_link_libraries(lockring_cuda INTERFACE CUDA::cudart_static CUDA::cublasLt ${CUDNN_LIBRARY})
    # fmt takes nvcc for a compiler without constexpr functions.
    target_compile_options(lockring_cuda INTERFACE
      $<$<COMPILE_LANGUAGE:CUDA>:-DFMT_USE_CONSTEXPR=1 -Xcompiler=-Wall,-Wextra>)
  elseif(LOCKRING_CUDA STREQUAL ON)
    message(FATAL_ERROR "LOCKRING_CUDA is ON, but nvcc or cuDNN is missing (compiler: ${CMAKE_CUDA_COMPILER}, "
      "cudnn.h: ${CUDNN_INCLUDE_DIR}, libcudnn: ${CUDNN_LIBRARY}); CUDA_HOME names the toolkit's folder")
  endif()
  if(TARGET lockring_cuda AND NOT LOCKRING_NCCL STREQUAL OFF)
    find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${toolkit}/include)
    find_library(NCCL_LIBRARY nccl HINTS ${toolkit}/lib64 ${toolkit}/lib)
    mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
  endif()
  if(TARGET lockring_cuda AND NCCL_INCLUDE_DIR AND NCCL_LIBRARY AND NOT LOCKRING_NCCL STREQUAL OFF)
    add_library(lockring_nccl INTERFACE)
    target_include_directories(lockring_nccl SYSTEM INTERFACE ${NCCL_INCLUDE_DIR})
    target_link_libraries(lockring_nccl INTERFACE ${NCCL_LIBRARY})
  endif()
elseif(LOCKRING_CUDA STREQUAL EMULATED)
  add_subdirectory(${PROJECT_SOURCE_DIR}/tests/fake_cuda)
  add_library(lockring_nccl INTERFACE)
  add_library(lockring_cuda INTERFACE)
  target_link_libraries(lockring_cuda INTERFACE lockring_fake_cuda)
endif()

if(LOCKRING_NCCL STREQUAL ON AND NOT TARGET lockring_nccl)
  message(FATAL_ERROR "LOCKRING_NCCL is ON, but GPU support (LOCKRING_CUDA: ${LOCKRING_CUDA}) or NCCL is missing "
    "(nccl.h: ${NCCL_INCLUDE_DIR}, libnccl: ${NCCL_LIBRARY})")
endif()

function(lockring_cuda_sources target)
  target_sources(${target} PRIVATE ${ARGN})
  if(LOCKRING_CUDA STREQUAL EMULATED)
    list(FILTER ARGN INCLUDE REGEX "\\.cu$")
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-x;c++")
  endif()
endfunction()
