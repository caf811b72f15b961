package shards

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"hgld/internal/testing/must"
	"hgld/labels"
)

func openParquet(tb testing.TB, path string) *parquet.File {
	tb.Helper()
	f := must.Get(os.Open(path))(tb)
	tb.Cleanup(func() { f.Close() })
	info := must.Get(f.Stat())(tb)
	file := must.Get(parquet.OpenFile(f, info.Size()))(tb)
	return file
}

// TestFeaturesAreThoseOfTheHub checks what the Hub's library requires: its footer key, and columns
// whose types and optionality match the features.
func TestFeaturesAreThoseOfTheHub(t *testing.T) {
	dir := t.TempDir()
	r := mustBuild(t, newSource(t, 12), dir, small())
	file := openParquet(t, filepath.Join(dir, r.Manifest.Files[0].Name))
	text, ok := file.Lookup("huggingface")
	if !ok {
		t.Fatal("no footer key huggingface")
	}
	var key struct {
		Info struct {
			Features map[string]struct {
				Type  string   `json:"_type"`
				DType string   `json:"dtype"`
				Names []string `json:"names"`
			}
		}
	}
	must.Do(t, json.Unmarshal([]byte(text), &key))
	f := key.Info.Features
	if f["image"].Type != "Image" || f["level_0"].Type != "ClassLabel" || len(f["level_0"].Names) != 9 ||
		f["level_1"].Names[0] != "group 0" {
		t.Errorf("features %s", text)
	}
	fields := file.Schema().Fields()
	if got := file.Schema().String(); !strings.Contains(got,
		"optional group image {\n\t\toptional binary bytes;\n\t\toptional binary path (STRING);\n\t}") {
		t.Errorf("schema %s", got)
	}
	if fields[0].Name() != "image" || len(fields) != len(f) {
		t.Errorf("%d columns, %d features", len(fields), len(f))
	}
	for _, field := range fields {
		want := map[string]parquet.Kind{"string": parquet.ByteArray, "int32": parquet.Int32}[f[field.Name()].DType]
		if f[field.Name()].Type == "ClassLabel" {
			want = parquet.Int64
		}
		if !field.Optional() || field.Leaf() && field.Type().Kind() != want {
			t.Errorf("%s is %s, its feature %+v", field.Name(), field, f[field.Name()])
		}
	}
}

// TestImageColumnIsPlain checks the layout that random access needs.
func TestImageColumnIsPlain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train-00000-of-00001.parquet")
	builder := labels.NewBuilder("only")
	if _, err := builder.Add(labels.Row{Names: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	w, err := createShard(disk(filepath.Dir(path)), filepath.Base(path), "", &Schema{Classes: builder.Hierarchy()})
	must.Do(t, err)
	defer w.Close()
	image := make([]byte, 40_000)
	rng := rand.NewChaCha8([32]byte{1})
	for i := range 600 {
		rng.Read(image)
		if err := w.Write(&Row{ID: ImageID(i), Image: image, Path: "a.jpg", Split: labels.Train, Labels: labels.Path{0},
			W: 1, H: 1}); err != nil {
			t.Fatal(err)
		}
	}
	info := must.Get(w.Finish("{}"))(t)
	if extra := info.Bytes - 600*40_000; extra > 100_000 {
		t.Errorf("%d bytes beside the images: do page headers hold images?", extra)
	}
	meta := openParquet(t, path).Metadata()
	if len(meta.RowGroups) != 3 || meta.RowGroups[0].NumRows != 256 {
		t.Errorf("%d row groups, the first of %d rows", len(meta.RowGroups), meta.RowGroups[0].NumRows)
	}
	for _, g := range meta.RowGroups {
		for i, c := range g.Columns {
			codec := format.Zstd
			if i == 0 {
				codec = format.Uncompressed
				if slices.Contains(c.MetaData.Encoding, format.RLEDictionary) {
					t.Errorf("the image column has a dictionary: %v", c.MetaData.Encoding)
				}
			}
			if c.MetaData.Codec != codec || c.OffsetIndexOffset == 0 {
				t.Errorf("column %v: codec %v, offset index at %d", c.MetaData.PathInSchema, c.MetaData.Codec, c.OffsetIndexOffset)
			}
		}
	}
}

// Large images make short row groups.
func TestRowGroupsAreBoundedByBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train-00000-of-00001.parquet")
	builder := labels.NewBuilder("only")
	if _, err := builder.Add(labels.Row{Names: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	w, err := createShard(disk(filepath.Dir(path)), filepath.Base(path), "", &Schema{Classes: builder.Hierarchy()})
	must.Do(t, err)
	defer w.Close()
	image := make([]byte, 20<<20)
	for range 5 {
		must.Do(t, w.Write(&Row{Image: image, Split: labels.Train, Labels: labels.Path{-1}}))
	}
	if _, err := w.Finish("{}"); err != nil {
		t.Fatal(err)
	}
	for _, g := range openParquet(t, path).Metadata().RowGroups {
		if g.NumRows > 3 {
			t.Errorf("a row group of %d images of 20 MB", g.NumRows)
		}
	}
}

// TestRowGroupsStayBoundedBehindRow256 fills a group up to its bound in bytes just before the
// file's 256th row, where no new group begins.
func TestRowGroupsStayBoundedBehindRow256(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train-00000-of-00001.parquet")
	builder := labels.NewBuilder("only")
	if _, err := builder.Add(labels.Row{Names: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	w, err := createShard(disk(filepath.Dir(path)), filepath.Base(path), "", &Schema{Classes: builder.Hierarchy()})
	must.Do(t, err)
	defer w.Close()
	image := make([]byte, 20<<20)
	for i := range 259 {
		size := 1
		if i >= 250 {
			size = len(image)
		}
		must.Do(t, w.Write(&Row{Image: image[:size], Split: labels.Train, Labels: labels.Path{-1}}))
	}
	if _, err := w.Finish("{}"); err != nil {
		t.Fatal(err)
	}
	for i, g := range openParquet(t, path).Metadata().RowGroups {
		const headers = 1 << 20 // of page headers, with the lengths
		if size := g.Columns[0].MetaData.TotalUncompressedSize; size > bytesPerGroup+headers {
			t.Errorf("row group %d has %d bytes of images in %d rows, want %d at most", i, size, g.NumRows, bytesPerGroup)
		}
	}
}

// TestForgedShardsNeverPanic changes a shard at random and then corrects all hashes, as an attacker
// would. Readers may fail or return the contents, but must not panic. HGLD_FORGERIES=100000 is the
// long form.
func TestForgedShardsNeverPanic(t *testing.T) {
	dir := t.TempDir()
	r := mustBuild(t, newSource(t, 12), dir, small())
	name := r.Manifest.Files[0].Name
	whole := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	footer := len(whole) - 8 - int(binary.LittleEndian.Uint32(whole[len(whole)-8:]))
	rng := rand.New(rand.NewPCG(5, 6))
	for range times(t, "HGLD_FORGERIES", 40) {
		forged := bytes.Clone(whole)
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(forged))
			if rng.IntN(2) == 0 { // damage to the footer has the greatest effect
				at = footer + rng.IntN(len(forged)-footer)
			}
			forged[at] = byte(rng.Uint32())
		}
		forge(t, dir, r.Manifest, forged)
		set := must.Get(Open(t.Context(), dir))(t)
		v := mustSplit(t, set, r.Manifest.Files[0].Split)
		for _, images := range []bool{true, false} {
			for _, err := range v.Rows(t.Context(), images) {
				if err != nil {
					break
				}
			}
		}
		must.Do(t, set.Close())
		if _, err := Verify(t.Context(), dir, VerifyOptions{}); err != nil {
			t.Logf("verify: %v", err)
		}
	}
}

// forge replaces the bytes of the first shard and makes the sidecar, the manifest and the sums
// agree with them.
func forge(t *testing.T, dir string, m *Manifest, shard []byte) {
	t.Helper()
	path := filepath.Join(dir, m.Files[0].Name)
	data := must.Get(os.ReadFile(indexName(path)))(t)
	x := must.Get(decodeIndex(data))(t)
	x.shardSHA, x.shardCRC = sha256Of(shard), crcOf(shard)
	data = x.encode()
	for _, f := range []struct {
		path string
		data []byte
	}{{path, shard}, {indexName(path), data}} {
		must.Do(t, os.WriteFile(f.path, f.data, 0o644))
	}
	m.Files[0].SHA256, m.Files[0].IndexSHA256 = x.shardSHA, sha256Of(data)
	must.Do(t, m.write(disk(dir), disk(dir).write))
}

func FuzzDecodeIndex(f *testing.F) {
	x := &index{levels: 2, shardBytes: 1000}
	x.add(&Row{ID: 7, Image: []byte("abc"), Labels: labels.Path{1, -1}})
	x.offsets[0] = 4
	f.Add(x.encode())
	f.Add((&index{levels: 1}).encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4 { // after the checksum
			data = binary.LittleEndian.AppendUint32(data[:len(data)-4:len(data)-4], crcOf(data[:len(data)-4]))
		}
		x, err := decodeIndex(data)
		if err == nil && !bytes.Equal(x.encode(), data) {
			t.Error("decoded and encoded, the index differs")
		}
	})
}

func FuzzDecodeManifest(f *testing.F) {
	dir := f.TempDir()
	mustBuild(f, newSource(f, 6), dir, small())
	data := must.Get(os.ReadFile(filepath.Join(dir, ManifestFile)))(f)
	f.Add(data)
	f.Add([]byte(`{"hgld_shards":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err != nil || m.Version > FormatVersion {
			return
		}
		for _, file := range m.Files {
			if !shardNames().MatchString(file.Name) {
				t.Errorf("file %q", file.Name)
			}
		}
	})
}

func TestNewerManifestAsksForANewerHgld(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, ManifestFile), []byte(`{"hgld_shards":7,"new":1}`), 0o644))
	_, err := Open(t.Context(), dir)
	wantError(t, err, "version 7", "newer hgld")
}

func TestHashOfAnotherLengthIsAnError(t *testing.T) {
	for _, digits := range []int{0, 62, 66, 128} {
		text := bytes.Repeat([]byte("0"), digits)
		if err := new(Hash).UnmarshalText(text); err == nil {
			t.Errorf("a hash of %d digits was read", digits)
		}
		if err := hashColumn().get(&Row{}, parquet.ByteArrayValue(text)); err == nil {
			t.Errorf("a column's hash of %d digits was read", digits)
		}
	}
}

// Other JSON would give every shard another key, so that all of them would be built anew.
func TestKeysHaveTheAttributesAsEver(t *testing.T) {
	got, err := json.Marshal(inKey(Attributes{Tag: "church", Modifications: "made smaller"}))
	const want = `{"CategoryURL":"","WikidataQID":"","Tag":"church","LabelSource":"","Author":"","License":"",` +
		`"Title":"","SourceURL":"","Modifications":"made smaller"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
