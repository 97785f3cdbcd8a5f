-- Backends that a maintainer's label or the title names are labels without a classifier: provenance `votes`.

COMMENT ON COLUMN predictions.provenance IS 'How it came about: model; out_of_fold where the item was in the training data and was left out for this; either with +votes where labelling functions spoke; votes where labels or words of the title decide by themselves; execution where a run showed it; only_class where the parent class has one.';
