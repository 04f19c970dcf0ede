# Functions for the bill of materials of a bundle (SPDX 2.3, in JSON), from the package manager of Debian. For another
# processor, DPKG_ADMINDIR is set to the database of the packages in SYSROOT.

# packages_of(<packages> <others> <file>...): finds the packages that files belong to, and the names of files that
# belong to none. Folders may have been merged into /usr since a package was made, so both paths are tried.
function(packages_of packages others)
  string(REGEX REPLACE "([.+])" "\\\\\\1" root "${SYSROOT}")
  set(paths)
  foreach(file ${ARGN})
    file(REAL_PATH ${file} real)
    string(REGEX REPLACE "^${root}/usr/" "${SYSROOT}/" unmerged ${real})
    list(APPEND paths ${real} ${unmerged})
  endforeach()
  execute_process(COMMAND dpkg-query -S ${paths} OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE status)
  set(found)
  set(unknown)
  foreach(file ${ARGN})
    file(REAL_PATH ${file} real)
    string(REGEX REPLACE "^${root}/(usr/)?" "" path ${real})
    string(REGEX REPLACE "([.+])" "\\\\\\1" path ${path})
    if("\n${answer}" MATCHES "\n([^\n ]+): ${root}/(usr/)?${path}\n")
      list(APPEND found ${CMAKE_MATCH_1})
    elseif(EXISTS ${file})
      get_filename_component(name ${file} NAME)
      list(APPEND unknown ${name})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  list(SORT found)
  set(${packages} ${found} PARENT_SCOPE)
  set(${others} ${unknown} PARENT_SCOPE)
endfunction()

# licences_of(<result> <package>): licences in Debian's copyright file of a package, as they are written there.
function(licences_of result package)
  string(REGEX REPLACE ":.*" "" name ${package})
  set(${result} "" PARENT_SCOPE)
  if(EXISTS ${SYSROOT}/usr/share/doc/${name}/copyright)
    file(STRINGS ${SYSROOT}/usr/share/doc/${name}/copyright lines REGEX "^License: ")
    list(TRANSFORM lines REPLACE "^License: +" "")
    list(REMOVE_DUPLICATES lines)
    list(SORT lines)
    list(JOIN lines ", " lines)
    string(REGEX REPLACE "[\\\\\"\t]" " " lines "${lines}")
    set(${result} "${lines}" PARENT_SCOPE)
  endif()
endfunction()

# write_bill_of_materials(<file> <copied file>...): lists lockstep, the packages of the files that were copied, and the
# packages of libraries that are compiled in. Without dpkg, lists the names of the copied files.
function(write_bill_of_materials output)
  packages_of(packages names ${ARGN} ${SYSROOT}/usr/include/hwy/highway.h ${SYSROOT}/usr/include/nlohmann/json.hpp)
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
