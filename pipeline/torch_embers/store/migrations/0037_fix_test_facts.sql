-- Facts about fix tests come with embers, beside those that a user's own clone and runs give; what a class rests on can be recomputed from its row.
ALTER TABLE fix_tests ADD COLUMN same VARCHAR[];
ALTER TABLE fix_tests ADD COLUMN provenance VARCHAR DEFAULT 'own';
ALTER TABLE fix_test_classes ADD COLUMN unusable_because VARCHAR[];
ALTER TABLE fix_test_classes ADD COLUMN variants INTEGER;
ALTER TABLE fix_test_classes ADD COLUMN variants_run INTEGER;
ALTER TABLE fix_test_classes ADD COLUMN provenance VARCHAR DEFAULT 'own';
COMMENT ON COLUMN fix_tests.same IS 'Of the issues those whose own bug the test is taken to show (relation same); the others are siblings.';
COMMENT ON COLUMN fix_tests.provenance IS 'shipped: a fact that comes with embers, without a script; own: read from a clone here.';
COMMENT ON COLUMN fix_tests.first_release_by IS 'What says so: tag, picked (the wheel of the release has the change although its branch was cut before), branch_cut (the cuts of this release and of the one before are measured), version_txt (the version that the tree named, and estimated cuts of the releases from it on), release_date (estimated cuts alone), or unknown.';
COMMENT ON COLUMN fix_test_classes.unusable_because IS 'For each version of unusable the reason, of data/fix_tests.toml.';
COMMENT ON COLUMN fix_test_classes.variants IS 'How many variants the test has (device-generic or parametrised), the most of any build on which it passes; NULL where it passes on none.';
COMMENT ON COLUMN fix_test_classes.variants_run IS 'How many of them ran there: no more than limits.variants, so a test with more of them passed in part only.';
COMMENT ON COLUMN fix_test_classes.provenance IS 'shipped: comes with embers; own: of runs of this database.';
COMMENT ON COLUMN extractions.status IS 'curated, extracted, fix_test (the test that its fix brought, where there is no other case), synthesized or not_possible.';
