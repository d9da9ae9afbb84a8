# LIBXSMM as the target libxsmm::libxsmm: its packages bring libraries and no description of them for CMake.
find_path(LIBXSMM_INCLUDE_DIR libxsmm.h)
find_library(LIBXSMM_LIBRARY xsmm)
find_library(LIBXSMM_NOBLAS_LIBRARY xsmmnoblas)
mark_as_advanced(LIBXSMM_INCLUDE_DIR LIBXSMM_LIBRARY LIBXSMM_NOBLAS_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(libxsmm
  REQUIRED_VARS LIBXSMM_LIBRARY LIBXSMM_NOBLAS_LIBRARY LIBXSMM_INCLUDE_DIR)
if(libxsmm_FOUND AND NOT TARGET libxsmm::libxsmm)
  add_library(libxsmm::libxsmm INTERFACE IMPORTED)
  target_include_directories(libxsmm::libxsmm INTERFACE ${LIBXSMM_INCLUDE_DIR})
  target_link_libraries(libxsmm::libxsmm INTERFACE ${LIBXSMM_LIBRARY} ${LIBXSMM_NOBLAS_LIBRARY} ${CMAKE_DL_LIBS})
endif()
