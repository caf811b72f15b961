package dataset

import (
	"errors"
	"slices"
	"testing"

	"hgld/internal/registry"
)

func TestNamesOfOtherProgramsAreProposed(t *testing.T) {
	if importer, err := Find("folder"); err != nil || importer != Importer(Folder{}) {
		t.Errorf("folder is %T, %v", importer, err)
	}
	for name, want := range map[string]string{"ImageFolder": "folder", "hf": "parquet", "floder": "folder"} {
		_, err := Find(name)
		if unknown := (*registry.UnknownError)(nil); !errors.As(err, &unknown) || unknown.Nearest != want {
			t.Errorf("%s: %v, want %s to be proposed", name, err, want)
		}
	}
	for name, meant := range elsewhere {
		if !slices.Contains(All.Names(), meant) || slices.Contains(All.Names(), name) {
			t.Errorf("%s means %s", name, meant)
		}
	}
}
