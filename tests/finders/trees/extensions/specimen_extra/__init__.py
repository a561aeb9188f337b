from specimen_extra.inside import VALUE as VALUE
