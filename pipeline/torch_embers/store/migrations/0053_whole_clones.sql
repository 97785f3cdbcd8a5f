-- A clone is read whole and takes the place of its former pages. An older embers kept these, and a note where they end.

DELETE FROM raw_pages USING raw_pages AS note
WHERE note.kind = 'git.restart' AND raw_pages.repo = note.repo AND raw_pages.kind IN ('git.log', 'git.history')
  AND starts_with(raw_pages.request, substr(note.request, length('restart of ') + 1) || ': ') AND raw_pages.seq < note.seq;
DELETE FROM raw_pages WHERE kind = 'git.restart';
