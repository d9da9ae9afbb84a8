# Read by find_package(lockring): finds what the static libraries need, then declares them.
include(CMakeFindDependencyMacro)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_dependency(CLI11)
find_dependency(CURL)
find_dependency(JPEG)
find_dependency(OpenSSL COMPONENTS Crypto)
find_dependency(PNG)
find_dependency(Threads)
find_dependency(ZLIB)
find_dependency(fmt)
find_dependency(nlohmann_json)
find_package(libxsmm QUIET)  # where the libraries were built with it
include(${CMAKE_CURRENT_LIST_DIR}/lockringTargets.cmake)
