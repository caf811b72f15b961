package dataset

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/shards"
)

// picture returns a JPEG that differs with n.
func picture(tb testing.TB, n int) []byte {
	tb.Helper()
	var buf bytes.Buffer
	must.Do(tb, jpeg.Encode(&buf, image.NewGray(image.Rect(0, 0, 8+n, 8)), nil))
	return buf.Bytes()
}

// tree is a folder of files that can be written in several forms.
type tree map[string]string

func (files tree) names() []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (files tree) folder(tb testing.TB) string {
	dir := tb.TempDir()
	for name, data := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(tb, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(tb, os.WriteFile(file, []byte(data), 0o644))
	}
	return dir
}

func (files tree) zip(tb testing.TB) string {
	file := filepath.Join(tb.TempDir(), "images.zip")
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range files.names() {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		must.Do(tb, err)
	}
	must.Do(tb, errors.Join(w.Close(), os.WriteFile(file, buf.Bytes(), 0o644)))
	return file
}

func (files tree) tar(tb testing.TB) string {
	file := filepath.Join(tb.TempDir(), "images.tar")
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range files.names() {
		err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o644, Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		must.Do(tb, err)
	}
	must.Do(tb, errors.Join(w.Close(), os.WriteFile(file, buf.Bytes(), 0o644)))
	return file
}

// items lists what an importer yields, one line per item.
func items(tb testing.TB, importer Importer, s Settings) ([]string, error) {
	tb.Helper()
	src, err := importer.Open(tb.Context(), s)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var lines []string
	for item, err := range src.Items(tb.Context()) {
		if err != nil {
			return lines, err
		}
		line := fmt.Sprintf("%s %s %s", item.Path, item.Split, strings.Join(item.Names, "<"))
		r, err := item.Open()
		if err != nil {
			lines = append(lines, line+" missing")
			continue
		}
		data, err := io.ReadAll(r)
		must.Do(tb, errors.Join(err, r.Close()))
		if int64(len(data)) != item.Size {
			tb.Errorf("%s: %d bytes, announced %d", item.Path, len(data), item.Size)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func TestFolderTakesClassesAndSplitsFromPaths(t *testing.T) {
	files := tree{"notes.txt": "not an image", ".hidden/x/y.jpg": "", "train/fruit/apple/1.jpg": string(picture(t, 1)),
		"train/fruit/apple/2.JPEG": string(picture(t, 2)), "test/fruit/pear/3.png": "x", "val/drink/juice/4.jpg": "y",
		"train/drink/juice/readme.md": ""}
	want := []string{"test/fruit/pear/3.png test pear<fruit", "train/fruit/apple/1.jpg train apple<fruit",
		"train/fruit/apple/2.JPEG train apple<fruit", "val/drink/juice/4.jpg val juice<drink"}
	files["__MACOSX/train/fruit/apple/._1.jpg"] = "the Finder's attributes"
	for name, input := range map[string]string{"folder": files.folder(t), "zip": files.zip(t), "tar": files.tar(t)} {
		got, err := items(t, Folder{}, Settings{Input: input})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	got, err := items(t, Folder{}, Settings{Input: files.folder(t), Levels: []string{"product", "group"}})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("with a hidden folder: %v, %v", got, err)
	}
	flat, err := items(t, Folder{}, Settings{Input: tree{"train/1.jpg": "x", "cats/2.jpg": "y"}.folder(t),
		Split: labels.Test})
	if want := []string{"cats/2.jpg test cats", "train/1.jpg test train"}; err != nil || !slices.Equal(flat, want) {
		t.Errorf("a class called train: %v, %v", flat, err)
	}
}

func TestFolderMistakesAreNamed(t *testing.T) {
	for _, c := range []struct {
		files tree
		set   Settings
		want  []string
	}{
		{tree{"a.txt": ""}, Settings{}, []string{"no images found"}},
		{tree{"00000.tar": ""}, Settings{}, []string{"no images found", "TAR files of samples are the data set webdataset"}},
		{tree{"train/a/1.jpg": "", "test/a/2.jpg": "", "sample.jpg": ""}, Settings{},
			[]string{"outside any class folder: 1 of 3, sample.jpg first"}},
		{tree{"1.jpg": ""}, Settings{}, []string{"outside any class folder: 1 of 1, 1.jpg first", "CLASS/1.jpg"}},
		{tree{"train/1.jpg": "", "train/metadata.csv": ""}, Settings{},
			[]string{"train/metadata.csv seems to describe them", "levels"}},
		{tree{"a/1.jpg": "", "a/b/2.jpg": "", "a/b/3.jpg": ""}, Settings{},
			[]string{"at depth 1: 1, like a/1.jpg; at depth 2: 2, like a/b/2.jpg", "partial_labels=repeat", "(a/a)",
				"a .csv with the columns path"}},
		{tree{"a/1.jpg": "", "a/b/2.jpg": "", "3.jpg": ""}, Settings{PartialLabels: "repeat"},
			[]string{"outside any class folder: 1 of 3, 3.jpg first"}},
		{tree{"a/1.jpg": ""}, Settings{PartialLabels: "repat"}, []string{`did you mean "repeat"`}},
		{tree{"a/b/2.jpg": "", "c/d/3.jpg": ""}, Settings{Levels: []string{"x"}}, []string{"1 level names (x)", "2 deep"}},
		{tree{"a/b/2.jpg": ""}, Settings{Images: "elsewhere"}, []string{"leave out the settings images, labels and columns"}},
	} {
		c.set.Input = c.files.folder(t)
		_, err := items(t, Folder{}, c.set)
		wantError(t, err, c.want...)
	}
}

func TestLinksOutOfTheFolderAreNotFollowed(t *testing.T) {
	outside := tree{"secret.jpg": "secret", "more/1.jpg": "x"}.folder(t)
	dir := tree{"a/1.jpg": "x"}.folder(t)
	must.Do(t, os.Symlink(filepath.Join(outside, "secret.jpg"), filepath.Join(dir, "a", "2.jpg")))
	_, err := items(t, Folder{}, Settings{Input: dir})
	wantError(t, err, "a/2.jpg", "escapes")
	table := filepath.Join(dir, "t.csv")
	must.Do(t, os.WriteFile(table, []byte("path,level_0\na/2.jpg,x\n"), 0o644))
	_, err = items(t, CSV{}, Settings{Input: table})
	wantError(t, err, "t.csv:2", "escapes")
	inside := tree{"a/1.jpg": "x", "b/2.jpg": "y"}.folder(t)
	must.Do(t, os.Symlink("b", filepath.Join(inside, "c")))
	got, err := items(t, Folder{}, Settings{Input: inside})
	if want := []string{"a/1.jpg train a", "b/2.jpg train b", "c/2.jpg train c"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("a linked class: %v, %v", got, err)
	}
	for link, to := range map[string]string{"a/round": "../a", "b/up": ".."} {
		must.Do(t, os.Symlink(to, filepath.Join(inside, link)))
		_, err = items(t, Folder{}, Settings{Input: inside})
		wantError(t, err, link+" is a symbolic link to", "which contains it")
		must.Do(t, os.Remove(filepath.Join(inside, link)))
	}
	must.Do(t, os.Symlink(filepath.Join(outside, "more"), filepath.Join(inside, "d")))
	_, err = items(t, Folder{}, Settings{Input: inside})
	wantError(t, err, "d goes through a symbolic link that leads out of "+inside, "cp -rL")
}

// The Grocery Store Dataset has Fruit/Avocado beside Fruit/Apple/Royal-Gala.
func TestInnermostFolderIsRepeatedAsALevel(t *testing.T) {
	dir := tree{"fruit/apple/gala/1.jpg": "", "fruit/avocado/2.jpg": "", "milk/3.jpg": ""}.folder(t)
	got, err := items(t, Folder{}, Settings{Input: dir, PartialLabels: "repeat"})
	want := []string{"fruit/apple/gala/1.jpg train gala<apple<fruit", "fruit/avocado/2.jpg train avocado<avocado<fruit",
		"milk/3.jpg train milk<milk<milk"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
}

// URLs in a table refer to files named like their last segment, as browsers and wget save them.
func TestURLsNameTheFileOfTheirLastSegment(t *testing.T) {
	dir := tree{"photos/a 1.jpg": "x", "t.csv": "url,level_0\nhttps://example.org/x/a%201.jpg?size=big,x\n"}.folder(t)
	s := Settings{Input: filepath.Join(dir, "t.csv"), Images: filepath.Join(dir, "photos")}
	_, err := items(t, CSV{}, s)
	wantError(t, err, "no column path among url, level_0; name another one", "columns.path=url")
	s.Columns.Path = "url"
	src := must.Get(CSV{}.Open(t.Context(), s))(t)
	defer src.Close()
	for item, err := range src.Items(t.Context()) {
		if err != nil || item.Missing || item.Path != "a 1.jpg" ||
			item.Attributes.SourceURL != "https://example.org/x/a%201.jpg?size=big" {
			t.Errorf("%+v, %v", item, err)
		}
	}
	var e *AddressesError
	if _, err := items(t, CSV{}, Settings{Input: s.Input, Columns: s.Columns}); !errors.As(err, &e) || e.Column != "url" {
		t.Errorf("without the folder of images: %v", err)
	}
}

// Members of a tar file have no checksums, so the hash of the file shows a change.
func TestChangedTarIsIndexedAgain(t *testing.T) {
	right := tree{"a/1.jpg": string(picture(t, 1)), "a/2.jpg": string(picture(t, 2))}.tar(t)
	data := must.Get(os.ReadFile(right))(t)
	wrong := bytes.Clone(data)
	wrong[bytes.Index(wrong, []byte("\xff\xdb"))+10] ^= 1 // in a table of the first picture
	file, out := filepath.Join(t.TempDir(), "images.tar"), t.TempDir()
	var got [2][]byte
	for i, content := range [][]byte{wrong, data} {
		must.Do(t, os.WriteFile(file, content, 0o644))
		src := must.Get(Folder{}.Open(t.Context(), Settings{Input: file}))(t)
		if _, err := shards.Build(t.Context(), src, out, shards.Options{}); err != nil {
			t.Fatal(err)
		}
		must.Do(t, src.Close())
		got[i] = imageOf(t, out, labels.Train, shards.NewImageID("a/1.jpg").String())
	}
	if bytes.Equal(got[0], got[1]) || !bytes.Equal(got[1], picture(t, 1)) {
		t.Error("the changed picture is still in the data set")
	}
}

// A broken link, and one that cannot be followed, are listed like damaged images.
func TestLinksThatCannotBeReadAreFailures(t *testing.T) {
	dir := tree{"a/1.jpg": string(picture(t, 1))}.folder(t)
	for name, to := range map[string]string{"2.jpg": "nowhere.jpg", "3.jpg": "3.jpg"} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, "a", name)))
	}
	table := filepath.Join(t.TempDir(), "t.csv")
	must.Do(t, os.WriteFile(table, []byte("path,level_0\na/1.jpg,a\na/2.jpg,a\na/3.jpg,a\n"), 0o644))
	for name, r := range map[string]*shards.Result{
		"folder": build(t, Folder{}, Settings{Input: dir}), "csv": build(t, CSV{}, Settings{Input: table, Images: dir}),
	} {
		if n := r.Manifest.Rows(labels.Train); n != 1 || len(r.Failures) != 2 {
			t.Fatalf("%s: %d rows, failures %+v", name, n, r.Failures)
		}
		gone, loop := r.Failures[0], r.Failures[1]
		if gone.Class != shards.MissingFailure || loop.Class != shards.ReadFailure || loop.Path != "a/3.jpg" {
			t.Errorf("%s: failures %+v", name, r.Failures)
		}
	}
}

func TestCSVReadsFromFolderZipAndTar(t *testing.T) {
	files := tree{"x/1.jpg": string(picture(t, 1)), "x/2.jpg": string(picture(t, 2))}
	table := "\ufeffsplit,path,fine,coarse,author,image_id\r\ntrain,x/1.jpg,apple,fruit,Ann,00000000000000ff\r\n" +
		",./x/2.jpg,\"a, b\",fruit,,\r\ntest,x/3.jpg,,,,\r\n"
	dir := t.TempDir()
	input := filepath.Join(dir, "t.csv")
	must.Do(t, os.WriteFile(input, []byte(table), 0o644))
	want := []string{"x/1.jpg train apple<fruit", "x/2.jpg val a, b<fruit", "x/3.jpg test  missing"}
	for name, images := range map[string]string{"folder": files.folder(t), "zip": files.zip(t), "tar": files.tar(t)} {
		s := Settings{Input: input, Images: images, Levels: []string{"fine", "coarse"}, Split: labels.Val}
		got, err := items(t, CSV{}, s)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		r := build(t, CSV{}, s)
		if len(r.Failures) != 1 || r.Failures[0].Class != shards.MissingFailure || r.Failures[0].Where != "t.csv:4" {
			t.Errorf("%s: failures %+v", name, r.Failures)
		}
		if in := r.Manifest.Inputs; len(in) != 2 || in[0].Name != "t.csv" ||
			strings.TrimSuffix(in[1].Name, "/") != filepath.Base(images) {
			t.Errorf("%s: inputs %+v", name, in)
		}
	}
}

func build(tb testing.TB, importer Importer, s Settings) *shards.Result {
	tb.Helper()
	src := must.Get(importer.Open(tb.Context(), s))(tb)
	defer src.Close()
	r := must.Get(shards.Build(tb.Context(), src, tb.TempDir(), shards.Options{AllowMissing: 1}))(tb)
	return r
}

func TestCSVMistakesAreNamedWithTheirLine(t *testing.T) {
	for _, c := range []struct {
		table string
		set   Settings
		want  []string
	}{
		{"", Settings{}, []string{"t.csv", "empty"}},
		{"what,level_0\n", Settings{}, []string{"t.csv:1", "no column path among what, level_0"}},
		{"path,colour\n", Settings{}, []string{"t.csv:1", "no label columns"}},
		{"path,label\n", Settings{Levels: []string{"lable"}}, []string{"t.csv:1", "lable", `did you mean "label"`}},
		{"path,level_0\n", Settings{Columns: Columns{Path: "paht"}}, []string{`did you mean "path"`}},
		{"path,path,level_0\n", Settings{}, []string{`"path" occurs twice`}},
		{"path,level_0\n../x.jpg,a\n", Settings{}, []string{"t.csv:2", "../x.jpg"}},
		{"path,level_0\n/etc/passwd,a\n", Settings{}, []string{"t.csv:2", "/etc/passwd"}},
		{"path,level_0\n,a\n", Settings{}, []string{"t.csv:2", `path ""`}},
		{"path,level_0\nx.jpg\n", Settings{}, []string{"t.csv", "line 2", "line 2: 1 columns"}},
		{"path,level_0\n\"x.jpg,a\n", Settings{}, []string{"t.csv", "line 2"}},
		{"path,level_0\n", Settings{Images: "images.tar.gz"}, []string{"images.tar.gz", "decompress it to .tar"}},
		{"path,level_0\n", Settings{Images: "images.rar"}, []string{"images.rar", "want a folder, a .zip or a .tar"}},
		{"path,level_0\n", Settings{Labels: "l.csv", Levels: []string{"a"}}, []string{"exclude each other"}},
		{"path,level_0\n", Settings{Labels: "l.csv"}, []string{"t.csv:1", "no column landmark_id"}},
		{"path,landmark_id\nx.jpg,one\n", Settings{Labels: "l.csv"}, []string{"t.csv:2", `landmark_id "one"`}},
		{"path,landmark_id,split\nx.jpg,1,index\n", Settings{Labels: "l.csv"}, []string{"t.csv:2", "index", "train"}},
	} {
		dir := tree{"t.csv": c.table, "images.tar.gz": "", "images.rar": "", "x.jpg": "",
			"l.csv": "landmark_id,category,supercategory,hierarchical_label,natural_or_human_made\n" +
				"1,http://c,lake,lake,natural\n"}.folder(t)
		c.set.Input = filepath.Join(dir, "t.csv")
		if c.set.Images != "" {
			c.set.Images = filepath.Join(dir, c.set.Images)
		}
		if c.set.Labels != "" {
			c.set.Labels = filepath.Join(dir, c.set.Labels)
		}
		_, err := items(t, CSV{}, c.set)
		t.Log(err)
		wantError(t, err, c.want...)
	}
}

func TestCSVJoinsTheLabelsOfLandmarks(t *testing.T) {
	dir := tree{
		"images.csv": "path,split,landmark_id\n1.jpg,train,7\n2.jpg,train,8\n3.jpg,index,7\n4.jpg,train,9\n5.jpg,train,\n",
		"labels.csv": "landmark_id,category,supercategory,hierarchical_label,natural_or_human_made,split\n" +
			"7,http://commons.wikimedia.org/wiki/Category:A,parish church,church,human-made,train\n" +
			"8,http://commons.wikimedia.org/wiki/Category:B,lake,lake,natural,train\n" +
			"7,http://commons.wikimedia.org/wiki/Category:C,peak,mountain,natural,index\n",
		"1.jpg": string(picture(t, 1)), "2.jpg": string(picture(t, 2)), "3.jpg": string(picture(t, 3)),
		"4.jpg": string(picture(t, 4)), "5.jpg": string(picture(t, 5)),
	}.folder(t)
	s := Settings{Input: filepath.Join(dir, "images.csv"), Labels: filepath.Join(dir, "labels.csv")}
	got, err := items(t, CSV{}, s)
	want := []string{"1.jpg train train/7<church<human-made", "2.jpg train train/8<lake<natural",
		"3.jpg index index/7<mountain<natural",
		"4.jpg train train/9<<", "5.jpg train "}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	r := build(t, CSV{}, s)
	if !r.Manifest.Landmarks || r.Manifest.Levels[1].Column != "hierarchical_label" || len(r.Failures) != 0 ||
		len(r.Manifest.Inputs) != 3 {
		t.Errorf("manifest %+v", r.Manifest)
	}
	for i, want := range []string{"train/7", "train/8", "index/7", "train/9"} {
		if got := r.Manifest.Levels[0].Classes[i]; got != want {
			t.Errorf("landmark %d is %s, want %s", i, got, want)
		}
	}
}

func TestEveryImporterHasANameAndASentence(t *testing.T) {
	for _, e := range All {
		if e.Name != path.Base(e.Name) || e.About == "" {
			t.Errorf("%+v", e)
		}
		if _, err := e.Value.Open(t.Context(), Settings{Input: filepath.Join(t.TempDir(), "none")}); err == nil {
			t.Errorf("%s opened a file that is not there", e.Name)
		}
	}
}

// wantError fails the test unless the text of err contains all parts.
func wantError(tb testing.TB, err error, parts ...string) {
	tb.Helper()
	if err == nil {
		tb.Errorf("no error, want one with %q", parts)
		return
	}
	text := err.Error()
	if s := (*SettingError)(nil); errors.As(err, &s) {
		text += fmt.Sprintf("; %s=%s", s.Setting, strings.Join(s.Values, "|"))
	}
	for _, p := range parts {
		if !strings.Contains(text, p) {
			tb.Errorf("error %q does not say %q", text, p)
		}
	}
}

// Tables come from spreadsheets, data frames and other operating systems.
func TestTablesAreReadAsProgramsWriteThem(t *testing.T) {
	here := tree{"img/1.jpg": "x", "img/2.jpg": "y"}.folder(t)
	want := []string{"img/1.jpg train a, b<c", "img/2.jpg val d<c"}
	two := []string{"fine", "coarse"}
	for name, c := range map[string]struct {
		text   string
		levels []string
		want   []string
	}{
		"German Excel": {"\ufeffpath;fine;coarse;split\r\nimg/1.jpg;a, b;c;train\r\nimg/2.jpg;d;c;val\r\n", two, want},
		"tabs":         {"path\tfine\tcoarse\tsplit\nimg/1.jpg\ta, b\tc\ttrain\nimg/2.jpg\td\tc\tval\n", two, want},
		"pandas":       {",Path,Fine,Coarse,Split\n0,img/1.jpg,\"a, b\",c,Train\n1,img/2.jpg,d,c,validation\n", two, want},
		"Windows":      {"file_name,fine,coarse,split\nimg\\1.jpg,\"a, b\",c,train\n.\\img\\2.jpg,d,c,valid\n", two, want},
		"absolute": {"filename,fine,coarse,split\n" + here + "/img/1.jpg,\"a, b\",c,train\nimg/2.jpg,d,c,val\n", two,
			want},
		"one label": {"image,label\nimg/1.jpg,a\nimg/2.jpg,b\n", nil,
			[]string{"img/1.jpg train a", "img/2.jpg train b"}},
	} {
		file := filepath.Join(here, "t.csv")
		must.Do(t, os.WriteFile(file, []byte(c.text), 0o644))
		if got, err := items(t, CSV{}, Settings{Input: file, Levels: c.levels}); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if folders, err := ImageFolders(file, ""); err != nil || name != "absolute" && len(folders) != 1 {
			t.Errorf("%s: folders of images %q, %v", name, folders, err)
		}
	}
	for text, want := range map[string]string{
		"path,fine\n1.jpg,K\xf6ln\n":   "t.csv: line 2: ",
		"path,fine\n1.jpg,a,b\n":       "t.csv: line 2: 3 columns",
		"path,fine,top\n1.jpg,a,b\n":   "levels=fine,top",
		"what,level_0\n1.jpg,a\n":      "columns.path=",
		"path,level_0\n/abc/1.jpg,a\n": "want one within the folder of images, /",
	} {
		file := filepath.Join(here, "t.csv")
		must.Do(t, os.WriteFile(file, []byte(text), 0o644))
		s := Settings{Input: file}
		if strings.HasPrefix(want, "t.csv") {
			s.Levels = []string{"fine"}
		}
		_, err := items(t, CSV{}, s)
		wantError(t, err, want)
	}
}
