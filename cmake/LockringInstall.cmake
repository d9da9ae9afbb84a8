# headers, static libraries and find_package(lockring)
