package dataset

import (
	"errors"
	"slices"
	"testing"

	"hgld/internal/registry"
	"hgld/internal/testing/must"
)

func TestErrorsSuggestOurNameForThatOfOtherPrograms(t *testing.T) {
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

// Archives made by macOS have a folder __MACOSX at the top.
func TestHiddenFoldersAreNotAtTheTop(t *testing.T) {
	files := tree{"CUB/images.txt": "", "__MACOSX/CUB/._images.txt": "", ".git/config": "", "loose.txt": ""}
	for name, input := range map[string]string{"folder": files.folder(t), "zip": files.zip(t), "tar": files.tar(t)} {
		s := must.Get(openStore(t.Context(), input))(t)
		if tops, err := s.folders(); err != nil || !slices.Equal(tops, []string{"CUB"}) {
			t.Errorf("%s: %v, %v", name, tops, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
