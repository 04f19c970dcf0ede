# Writes manual pages, and completion for bash and zsh, into PREFIX/share. The programs themselves print the content.
#   cmake -D PROGRAM=<lockstep> -D LAUNCHER=<lockstep-run> -D PREFIX=<folder> [-D EMULATOR=<program that runs them>]
#     -P install_help.cmake
set(manual ${PREFIX}/share/man/man1)
set(bash ${PREFIX}/share/bash-completion/completions)
set(zsh ${PREFIX}/share/zsh/site-functions)
file(MAKE_DIRECTORY ${manual} ${bash} ${zsh})

execute_process(COMMAND ${EMULATOR} ${PROGRAM} man --output ${manual} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${EMULATOR} ${PROGRAM} completion bash OUTPUT_FILE ${bash}/lockstep COMMAND_ERROR_IS_FATAL ANY)
file(COPY_FILE ${bash}/lockstep ${bash}/lockstep-run)  # bash looks for a file with the name of the command
execute_process(COMMAND ${EMULATOR} ${PROGRAM} completion zsh OUTPUT_FILE ${zsh}/_lockstep COMMAND_ERROR_IS_FATAL ANY)

execute_process(COMMAND ${EMULATOR} ${LAUNCHER} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\\" "\\e" help "${help}")
string(REPLACE "-" "\\-" help "${help}")
file(WRITE ${manual}/lockstep-run.1 ".TH LOCKSTEP\\-RUN 1
.SH NAME
lockstep\\-run \\- start lockstep on several ranks
.SH DESCRIPTION
.nf
${help}.fi
")
message(STATUS "Installed: manual pages and completions below ${PREFIX}/share")
