# Installs the build folder BUILD into a prefix of its own, then builds and runs a consumer against it and every example.
#   cmake -D BUILD=... -D SOURCE=... -D WORK=... -D GENERATOR=... -D COMPILER=... -P install_test.cmake
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(result)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${result}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${WORK}/prefix/bin/lockring --help)

# The package must work on another machine: no path of this one in it.
file(GLOB_RECURSE package_files ${WORK}/prefix/lib*/cmake/*.cmake)
foreach(package_file ${package_files})
  file(READ ${package_file} text)
  if(text MATCHES "[\";:](/[a-z]+/[^\";]*)")
    message(FATAL_ERROR "${package_file} refers to ${CMAKE_MATCH_1}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/consumer -G ${GENERATOR}
  -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_PREFIX_PATH=${WORK}/prefix
  -D EXAMPLES=${SOURCE}/docs/examples)
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer)
file(GLOB examples ${SOURCE}/docs/examples/*.cpp)
foreach(example ${examples})
  cmake_path(GET example STEM name)
  run(${WORK}/consumer/${name})
endforeach()
