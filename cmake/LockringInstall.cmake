# cmake --install: the program, the libraries, their headers, and a package for find_package(lockring).
#
# Headers lie in include/lockring as in the tree, so #include "nn/model.h" is the same in both. The target
# lockring::lockring brings all libraries; lockring::core, lockring::nn and so on bring one and what it needs.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(folders core ops nn models data distributed apps)
set(libraries lockring_http)  # whose headers lie in apps
foreach(folder ${folders})
  if(TARGET lockring_${folder})
    list(APPEND libraries lockring_${folder})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockring
      FILES_MATCHING PATTERN "*.h" PATTERN "ops/cpu" EXCLUDE
      PATTERN "core/cuda" EXCLUDE PATTERN "ops/cuda" EXCLUDE)
  endif()
endforeach()
add_library(lockring_all INTERFACE)
target_link_libraries(lockring_all INTERFACE ${libraries})
set_target_properties(lockring_all PROPERTIES EXPORT_NAME lockring)

install(TARGETS lockring)
install(TARGETS lockring_all lockring_flags ${libraries} EXPORT lockring_targets)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lockring)
install(EXPORT lockring_targets NAMESPACE lockring:: FILE lockringTargets.cmake DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockringConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_SOURCE_DIR}/cmake/Findlibxsmm.cmake
  ${PROJECT_SOURCE_DIR}/cmake/lockringConfig.cmake
  ${PROJECT_BINARY_DIR}/lockringConfigVersion.cmake
  DESTINATION ${package_folder})
