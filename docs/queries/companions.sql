-- Packages that are installed beside torch, by the release.
SELECT torch AS "`torch`", packages AS "`packages`", reason AS why FROM (SELECT unnest(companion, recursive := true) FROM 'builds.json')
