-- The study's stages (sections III and IV: 3,089 closed issues, 101 that report a bug, 73 patched), counted here for its own time
-- and until today.
SELECT sample, stage, items AS k FROM study_stages ORDER BY sample, items DESC, stage;
