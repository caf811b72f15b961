package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/classes"
	"hgld/internal/testing/must"
)

// In Omniglot as published, every alphabet has characters of the same names.
func TestEqualNamesUnderTwoParentsAreTwoClasses(t *testing.T) {
	files := tree{}
	for _, name := range []string{"Greek/character01/1.png", "Greek/character02/1.png", "Latin/character01/1.png",
		"Latin/character02/1.png", "Latin/character03/1.png"} {
		files[name] = string(picture(t, len(files)))
	}
	s := Settings{Input: files.folder(t), Levels: []string{"character", "alphabet"}}
	got, err := items(t, Folder{}, s)
	want := []string{"Greek/character01/1.png train Greek/character01<Greek",
		"Greek/character02/1.png train Greek/character02<Greek",
		"Latin/character01/1.png train Latin/character01<Latin",
		"Latin/character02/1.png train Latin/character02<Latin",
		"Latin/character03/1.png train Latin/character03<Latin"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
	r := build(t, Folder{}, s)
	if levels := r.Manifest.Levels; len(levels[0].Classes) != 5 || len(levels[1].Classes) != 2 {
		t.Errorf("%d and %d classes, want 5 and 2", len(levels[0].Classes), len(levels[1].Classes))
	}
	src := must.Get(Folder{}.Open(t.Context(), s))(t)
	defer src.Close()
	if notes := src.(interface{ Notes() []string }).Notes(); len(notes) != 1 ||
		!strings.Contains(notes[0], "character: some names occur under two parents") || !strings.Contains(notes[0],
		"Greek/character01") {
		t.Errorf("%q", notes)
	}
	deep, err := items(t, Folder{}, Settings{Input: tree{"x/a/1/p.png": "p", "x/b/1/p.png": "p",
		"y/a/2/p.png": "p"}.folder(t)})
	if want := []string{"x/a/1/p.png train x/a/1<x/a<x", "x/b/1/p.png train x/b/1<x/b<x",
		"y/a/2/p.png train y/a/2<y/a<y"}; err != nil || !slices.Equal(deep, want) {
		t.Errorf("%v, %v", deep, err)
	}
}

func TestPhotographsThatCannotBeReadAreCounted(t *testing.T) {
	files := tree{"a/1.jpg": "x", "b/2.HEIC": "y", "b/3.heic": "y", "b/4.cr2": "z", "b/readme.txt": "", "b/film.MP4": "",
		"b/scan": "", "b/Thumbs.db": ""}
	src, err := Folder{}.Open(t.Context(), Settings{Input: files.folder(t)})
	must.Do(t, err)
	defer src.Close()
	const want = "2 files left out, in formats that hgld reads by libheif (.heic: 2); install it (apt install libheif1, " +
		"brew install libheif), or save them as JPEG; " +
		"1 file left out, in formats that hgld does not read (.cr2: 1); save them as JPEG to use them"
	const others = "3 files left out, not images by their names (.mp4: 1, .txt: 1, no extension: 1)"
	if notes := src.(interface{ Notes() []string }).Notes(); !slices.Equal(notes, []string{want, others}) {
		t.Errorf("%q", notes)
	}
	_, err = items(t, Folder{}, Settings{Input: tree{"a/1.heic": "x"}.folder(t)})
	wantError(t, err, "no images found (jpg, ", "1 file left out", ".heic: 1", "save them as JPEG")
	got, err := items(t, Folder{}, Settings{Input: files.folder(t), Extensions: []string{".heic"}})
	if all := []string{"a/1.jpg train a", "b/2.HEIC train b", "b/3.heic train b"}; err != nil || !slices.Equal(got, all) {
		t.Errorf("where HEIC is read: %v, %v", got, err)
	}
}

func TestFoldersNamedLikeSplitsAreRefused(t *testing.T) {
	near := tree{"training/a/1.jpg": "x", "testing/a/2.jpg": "y", "validation/b/3.jpg": "z"}.folder(t)
	_, err := items(t, Folder{}, Settings{Input: near})
	wantError(t, err, "the folders testing, training, validation may be splits or classes",
		"split_folders=testing=test,training=train,validation=val|none")
	got, err := items(t, Folder{}, Settings{Input: near,
		SplitFolders: []string{"testing=test", "training=train", "validation=val"}})
	if want := []string{"testing/a/2.jpg test a", "training/a/1.jpg train a",
		"validation/b/3.jpg val b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	got, err = items(t, Folder{}, Settings{Input: near, SplitFolders: []string{"none"}, Levels: []string{"x", "y"}})
	if want := []string{"testing/a/2.jpg train testing/a<testing", "training/a/1.jpg train training/a<training",
		"validation/b/3.jpg train validation/b<validation"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	_, err = items(t, Folder{}, Settings{Input: tree{"images_background/a/1.jpg": "",
		"images_evaluation/b/2.jpg": ""}.folder(t)})
	wantError(t, err, "images_background=train,images_evaluation=test")
	_, err = items(t, Folder{}, Settings{Input: tree{"train/a/1.jpg": "", "test/a/2.jpg": "",
		"extra/a/3.jpg": ""}.folder(t)})
	wantError(t, err, "extra, test, train", "split_folders=")
	for asked, want := range map[string]string{"training": "want FOLDER=SPLIT", "training=trian": "want FOLDER=SPLIT",
		"trainig=train": `names "trainig"`, "training=train": "does not name testing"} {
		_, err := items(t, Folder{}, Settings{Input: near, SplitFolders: []string{asked}})
		wantError(t, err, want)
	}
}

// Names that speak of splits are never a level unasked: their images would be trained on.
func TestNamesThatSpeakOfSplitsAreAskedAbout(t *testing.T) {
	for _, c := range []struct{ files, want string }{ // want "": they are classes or splits as they stand
		{"train2017/a/1 val2017/b/2", "train2017=train,val2017=val"},
		{"seg_train/a/1 seg_test/b/2", "seg_test=test,seg_train=train"},
		{"imagenet_train/a/1 imagenet_val/b/2 readme/c/3", "imagenet_train=train,imagenet_val=val,readme=SPLIT"},
		{"bounding_box_train/a/1 bounding_box_test/b/2 query/b/3",
			"bounding_box_test=test,bounding_box_train=train,query=query"},
		{"trainA/a/1 testA/b/2", "testA=test,trainA=train"},
		{"ILSVRC2012_img_train/a/1 ILSVRC2012_img_val/b/2", "ILSVRC2012_img_train=train,ILSVRC2012_img_val=val"},
		{"Train/a/1 Test/b/2", "Test=test,Train=train"},
		{"train/a/1 valid/b/2", "train=train,valid=val"},
		{"trainset/a/1 testimages/b/2", "testimages=test,trainset=train"},
		{"10k-train/a/1 10k-dev/b/2", "10k-dev=val,10k-train=train"},
		{"base_gallery/a/1 base_queries/b/2", "base_gallery=gallery,base_queries=query"},
		{"test_query/a/1 test_gallery/b/2", "test_gallery=gallery,test_query=query"},
		{"train2017/1 val2017/2", "train2017=train,val2017=val"},
		{"photos/a/1 photos/b/2 photos_test/a/3", "photos=SPLIT,photos_test=test"},
		{"top/train_v2/a/1 top/test_v2/a/2", "test_v2=test,train_v2=train"},
		{"seg_test/a/1 seg_test/b/2", "seg_test=test"},
		{"apple/train/1 apple/test/2 pear/train/3", "test=test,train=train"},
		{"seg_train/a/1 seg_train/b/2", ""},
		{"photos/a/1 photos_test/b/2", ""}, // no class in common
		{"train/1 car/2 bus/3", ""},
		{"interval/1 medieval/2 contest/3 latest/4", ""},
		{"apple/left/1 apple/right/2 pear/left/3", ""},
	} {
		files := tree{}
		for _, name := range strings.Fields(c.files) {
			files[name+".jpg"] = "x"
		}
		_, err := items(t, Folder{}, Settings{Input: files.folder(t)})
		var asked *SettingError
		switch is := errors.As(err, &asked); {
		case is != (c.want != "") || !is && err != nil:
			t.Errorf("%s: %v, want %q", c.files, err, c.want)
		case is && (asked.Setting != "split_folders" || !slices.Equal(asked.Values, []string{c.want, asClasses})):
			t.Errorf("%s: %q, want %q", c.files, asked.Values, c.want)
		}
	}
	// The answers are taken, also where the splits lie below the classes.
	inner := tree{"apple/train/1.jpg": "x", "apple/test/2.jpg": "y", "pear/train/3.jpg": "z"}
	got, err := items(t, Folder{}, Settings{Input: inner.folder(t), SplitFolders: []string{"train=train", "test=test"}})
	if want := []string{"apple/test/2.jpg test apple", "apple/train/1.jpg train apple",
		"pear/train/3.jpg train pear"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	inner["pear/4.jpg"] = "w"
	_, err = items(t, Folder{}, Settings{Input: inner.folder(t), SplitFolders: []string{"train=train", "test=test"}})
	wantError(t, err, "pear/4.jpg lies in no folder of a split, as those in apple/test do")
}

func TestRowsPutTheLevelsOfATableInOrder(t *testing.T) {
	const three = "path,group,product,maker\n1.jpg,fruit,apple,Ann\n2.jpg,fruit,pear,Ben\n3.jpg,drink,juice,Cid\n" +
		"4.jpg,fruit,gala,Ann\n"
	for _, c := range []struct {
		text   string
		levels string
		want   string // the order, the first row and a note; or an error
	}{
		{three, "product,maker,group", `[product maker group] ["apple" "Ann" "fruit"] []`},
		{three, "group,product,maker", `[product maker group] ["apple" "Ann" "fruit"] [the levels are read as ` +
			`product,maker,group, finest first: in the order group,product,maker, group "fruit" has two parents: ` +
			`"apple" (t.csv:2) and "pear" (t.csv:3)]`},
		{three, "maker,group,product", `[product maker group] ["apple" "Ann" "fruit"] [the levels are read as ` +
			`product,maker,group, finest first: in the order maker,group,product, group "fruit" has two parents: ` +
			`"apple" (t.csv:2) and "pear" (t.csv:3)]`},
		{"path,group,product\n1.jpg,fruit,\n2.jpg,,\n3.jpg,fruit,apple\n4.jpg,drink,juice\n", "group,product",
			`[group product] ["fruit" ""] [1 of 4 rows have no class at group (empty) 2 of 4 rows have ` +
				`no class at product (empty)]`},
		{"path,top,a,b\n1.jpg,x,1,p\n2.jpg,x,2,q\n3.jpg,y,3,r\n", "top,a,b", `the rows do not determine which of a and b is finer`},
		{"path,top,category,product\n1.jpg,x,1,p\n2.jpg,x,2,q\n", "top,category,product", `[product category top] ["p" "1" "x"] [`},
		{"path,a,b\n1.jpg,x,p\n2.jpg,x,q\n3.jpg,y,q\n", "a,b", `[a b] ["x" "p"] []`}, // no tree, as the build says
	} {
		dir := tree{"t.csv": c.text, "1.jpg": "x"}.folder(t)
		src, err := CSV{}.Open(t.Context(), Settings{Input: filepath.Join(dir, "t.csv"), Levels: strings.Split(c.levels, ","),
			PartialLabels: "keep"})
		if err != nil {
			wantError(t, err, "t.csv", c.want)
			continue
		}
		got := ""
		for item, err := range src.Items(t.Context()) {
			got = fmt.Sprintf("%v %q %v", src.Levels(), item.Names, src.(interface{ Notes() []string }).Notes())
			if err != nil {
				t.Error(err)
			}
			break
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.levels, got, c.want)
		}
		src.Close()
	}
}

func TestLevelsInTheWrongOrderAreRefused(t *testing.T) {
	dir := tree{"Greek/alpha/1.jpg": "x", "Greek/beta/2.jpg": "y", "Latin/a/3.jpg": "z"}.folder(t)
	_, err := items(t, Folder{}, Settings{Input: dir, Levels: []string{"alphabet", "character"}})
	wantError(t, err, "the levels alphabet,character seem to be coarsest first")
	_, err = items(t, Folder{}, Settings{Input: tree{"apple/fruit/1.jpg": "", "pear/fruit/2.jpg": "",
		"juice/drink/3.jpg": ""}.folder(t)})
	wantError(t, err, "the levels seem to be reversed", "fruit/apple/image.jpg")

	table := tree{"t.csv": "path,fine,coarse\n1.jpg,fruit,apple\n2.jpg,fruit,pear\n3.jpg,drink,juice\n" +
		"4.jpg,fruit,apple\n"}.folder(t)
	s := Settings{Input: filepath.Join(table, "t.csv"), Levels: []string{"fine", "coarse"}}
	_, err = items(t, CSV{}, s)
	wantError(t, err, "t.csv", "the levels fine,coarse seem to be coarsest first",
		`fine "fruit" has two parents: "apple" (t.csv:2) and "pear" (t.csv:3)`)
	var order *classes.OrderError
	if !errors.As(err, &order) || !slices.Equal(order.Right(), []string{"coarse", "fine"}) {
		t.Errorf("%T %v", err, err)
	}
	same := tree{"t.csv": "path,fine,coarse\n1.jpg,apple,fruit\n2.jpg,juice,drink\n"}.folder(t)
	_, err = items(t, CSV{}, Settings{Input: filepath.Join(same, "t.csv"), Levels: []string{"coarse", "fine"}})
	wantError(t, err, "the levels coarse,fine seem to be coarsest first")
	s.Levels = []string{"coarse", "fine"}
	if _, err := items(t, CSV{}, s); err != nil {
		t.Error(err)
	}
}

// A folder that wraps all others, as archives have, would be a level with one class.
func TestWrappingFolderIsNotAClass(t *testing.T) {
	two, split := tree{"photos/a/1.jpg": "x", "photos/b/2.jpg": "y"}, tree{"d/train/a/1.jpg": "x", "d/test/b/2.jpg": "y"}
	for name, c := range map[string]struct {
		files tree
		set   Settings
		want  []string
	}{
		"archive": {two, Settings{}, []string{"photos/a/1.jpg train a", "photos/b/2.jpg train b"}},
		"named levels": {two, Settings{Levels: []string{"x", "y"}},
			[]string{"photos/a/1.jpg train a<photos", "photos/b/2.jpg train b<photos"}},
		"two deep": {tree{"p/q/a/1.jpg": "", "p/q/b/2.jpg": ""}, Settings{},
			[]string{"p/q/a/1.jpg train a", "p/q/b/2.jpg train b"}},
		"splits": {split, Settings{}, []string{"d/test/b/2.jpg test b", "d/train/a/1.jpg train a"}},
		"one split": {tree{"train/a/1.jpg": "", "train/b/2.jpg": ""}, Settings{},
			[]string{"train/a/1.jpg train a", "train/b/2.jpg train b"}},
		"as a split": {two, Settings{SplitFolders: []string{"photos=test"}},
			[]string{"photos/a/1.jpg test a", "photos/b/2.jpg test b"}},
		"one class": {tree{"a/1.jpg": "", "a/2.jpg": ""}, Settings{}, []string{"a/1.jpg train a", "a/2.jpg train a"}},
	} {
		for _, input := range []string{c.files.folder(t), c.files.zip(t)} {
			c.set.Input = input
			if got, err := items(t, Folder{}, c.set); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %v\n%q, want\n%q", name, err, got, c.want)
			}
		}
	}
	src := must.Get(Folder{}.Open(t.Context(), Settings{Input: two.folder(t)}))(t)
	defer src.Close()
	const want = "photos: the folder of all images is no class; name 2 levels to make it one"
	if notes := src.(interface{ Notes() []string }).Notes(); !slices.Equal(notes, []string{want}) {
		t.Errorf("%q", notes)
	}
}

// Network drives store thumbnails in folders named like the images.
func TestSystemFoldersAreSkipped(t *testing.T) {
	got, err := items(t, Folder{}, Settings{Input: tree{"a/1.jfif": "x", "a/@eaDir/1.jpg/SYNOPHOTO_THUMB_S.jpg": "y",
		"#recycle/b/2.jpg": "z", "$RECYCLE.BIN/3.jpg": "z"}.folder(t)})
	if want := []string{"a/1.jfif train a"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
