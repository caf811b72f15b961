package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/shards"
)

func TestWithoutLeavesOutWhatAFileLists(t *testing.T) {
	dir := gldv2Folder(t, true)
	list := filepath.Join(t.TempDir(), "overlap.txt")
	leave := func(text string) (paths []string, src *Excluding, err error) {
		must.Do(t, os.WriteFile(list, []byte(text), 0o644))
		all, err := GLDv2{}.Open(t.Context(), Settings{Input: dir})
		must.Do(t, err)
		t.Cleanup(func() { all.Close() })
		if src, err = Without(t.Context(), all, list); err != nil {
			return nil, nil, err
		}
		for item, err := range src.Items(t.Context()) {
			if err != nil {
				return nil, nil, err
			}
			paths = append(paths, item.Path)
		}
		return paths, src, nil
	}
	got, src, err := leave("\ufeff# images of Revisited Oxford\r\n000000000000000a\r\n\n" +
		" index/3/0/0/300000000000000d.jpg \nffff\n")
	want := []string{"train/1/0/0/100000000000000b.jpg", "train/2/0/0/200000000000000c.jpg",
		"index/4/0/0/400000000000000e.jpg", "test/5/0/0/500000000000000f.jpg"}
	if err != nil || !slices.Equal(got, want) || src.Unknown() != 1 {
		t.Fatalf("%v, %q, want %q, and ffff unknown", err, got, want)
	}
	got, src, err = leave("id,path,class\n000000000000000a,moved.jpg,x\n" +
		",index/3/0/0/300000000000000d.jpg,\"y, z\"\nffff,,\n")
	if err != nil || !slices.Equal(got, want) || src.Unknown() != 1 {
		t.Fatalf("a table: %v, %q, want %q, and ffff unknown", err, got, want)
	}
	all, err := src.Inputs(t.Context(), func(int) bool { return true })
	if last := all[len(all)-1]; err != nil || last.Name != "overlap.txt" || last.Bytes == 0 {
		t.Errorf("%v, the last input is %+v", err, last)
	}
	none, err := src.Inputs(t.Context(), func(i int) bool { return i == 0 })
	if last := none[len(none)-1]; err != nil || len(none) != len(all) || last != (shards.Input{}) {
		t.Errorf("%v, the last of %d inputs is %+v, which is not wanted", err, len(none), last)
	}
	if got, _, err := leave("# nothing\n"); err != nil || len(got) != 6 {
		t.Errorf("an empty list: %v, %q", err, got)
	}
	_, _, err = leave("Golden Gate\nffff\n")
	wantError(t, err, "overlap.txt lists 2 images", "none of them")
}
