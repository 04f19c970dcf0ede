# Sources of the program, which are not in the library, that the tests of this folder cover.
set(tested option_value option_set option_help common_options options config_file output report)
list(TRANSFORM tested REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/cli/\\1.cpp")
target_sources(cli_test PRIVATE ${tested})
