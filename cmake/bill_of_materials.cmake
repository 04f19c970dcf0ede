# Functions for the bill of materials of a bundle (SPDX 2.3, in JSON), from the package manager of Debian.

# Finds the package that `file` belongs to; empty if dpkg does not know. Folders may have been merged into /usr since the
# package was made.
function(package_of result file)
  file(REAL_PATH ${file} real)
  string(REGEX REPLACE "^/usr/" "/" path ${real})
  execute_process(COMMAND dpkg-query -S "*${path}" OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE status)
  set(${result} "" PARENT_SCOPE)
  if(status EQUAL 0 AND answer MATCHES "^([^: ]+(:[^: ]+)?): ")
    set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
  endif()
endfunction()

# The licences that Debian's copyright file of a package names, in the package's own words.
function(licences_of result package)
  string(REGEX REPLACE ":.*" "" name ${package})
  set(${result} "" PARENT_SCOPE)
  if(EXISTS /usr/share/doc/${name}/copyright)
    file(STRINGS /usr/share/doc/${name}/copyright lines REGEX "^License: ")
    list(TRANSFORM lines REPLACE "^License: +" "")
    list(REMOVE_DUPLICATES lines)
    list(SORT lines)
    list(JOIN lines ", " lines)
    string(REGEX REPLACE "[\\\\\"\t]" " " lines "${lines}")
    set(${result} "${lines}" PARENT_SCOPE)
  endif()
endfunction()

# write_bill_of_materials(<file> <copied file>...): lists lockstep, the packages of the files that were copied, and those
# of libraries that are compiled in. Without dpkg, the copied files are listed by their names.
function(write_bill_of_materials output)
  set(packages)
  set(names)
  foreach(file ${ARGN} /usr/include/hwy/highway.h /usr/include/nlohmann/json.hpp)
    package_of(package ${file})
    get_filename_component(name ${file} NAME)
    if(package)
      list(APPEND packages ${package})
    elseif(EXISTS ${file})
      list(APPEND names ${name})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES packages)
  list(SORT packages)
  set(no_assertions "\"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false,
     \"licenseConcluded\": \"NOASSERTION\", \"copyrightText\": \"NOASSERTION\"")
  set(entries "{\"SPDXID\": \"SPDXRef-lockstep\", \"name\": \"lockstep\", \"versionInfo\": \"${VERSION}\",
     \"licenseDeclared\": \"Apache-2.0\", ${no_assertions}}")
  set(relations "{\"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\",
     \"relatedSpdxElement\": \"SPDXRef-lockstep\"}")
  file(STRINGS /etc/os-release system REGEX "^ID=")
  string(REGEX REPLACE "^ID=\"?([a-z]+).*" "\\1" system "${system}")
  foreach(package ${packages} ${names})
    set(facts "")
    if(package IN_LIST packages)
      execute_process(COMMAND dpkg-query -W -f "\${Package};\${Version};\${Architecture}" ${package}
                      OUTPUT_VARIABLE answer COMMAND_ERROR_IS_FATAL ANY)
      list(GET answer 0 name)
      list(GET answer 1 version)
      list(GET answer 2 architecture)
      licences_of(licences ${package})
      string(REPLACE "+" "%2B" locator "pkg:deb/${system}/${name}@${version}?arch=${architecture}")
      set(facts "\"versionInfo\": \"${version}\",")
      if(licences)
        string(APPEND facts " \"licenseComments\": \"Debian's copyright file: ${licences}\",")
      endif()
      string(APPEND facts "
     \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\",
       \"referenceLocator\": \"${locator}\"}],")
    else()
      set(name ${package})
    endif()
    string(REGEX REPLACE "[^A-Za-z0-9.-]" "-" identifier ${name})
    string(APPEND entries ",\n    {\"SPDXID\": \"SPDXRef-${identifier}\", \"name\": \"${name}\", ${facts}
     \"licenseDeclared\": \"NOASSERTION\", ${no_assertions}}")
    string(APPEND relations ",\n    {\"spdxElementId\": \"SPDXRef-lockstep\", \"relationshipType\": \"CONTAINS\",
     \"relatedSpdxElement\": \"SPDXRef-${identifier}\"}")
  endforeach()
  string(SHA1 hash "${entries}")
  string(TIMESTAMP now "%Y-%m-%dT%H:%M:%SZ" UTC)
  file(WRITE ${output} "{
  \"spdxVersion\": \"SPDX-2.3\", \"dataLicense\": \"CC0-1.0\", \"SPDXID\": \"SPDXRef-DOCUMENT\",
  \"name\": \"lockstep-${VERSION}\", \"documentNamespace\": \"https://spdx.org/spdxdocs/lockstep-${VERSION}-${hash}\",
  \"creationInfo\": {\"created\": \"${now}\", \"creators\": [\"Tool: lockstep-make-bundle-${VERSION}\"]},
  \"packages\": [
    ${entries}],
  \"relationships\": [
    ${relations}]
}
")
endfunction()
