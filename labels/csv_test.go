package labels

import (
	"bytes"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// csvTexts are label files that must be written byte for byte as they were read.
var csvTexts = map[string]string{
	"published five columns": "landmark_id,category,supercategory,hierarchical_label,natural_or_human_made\n" +
		"0,http://commons.wikimedia.org/wiki/Category:Happy_Valley_Racecourse,horse racing venue,sports venue,human-made\n" +
		"3,\"http://commons.wikimedia.org/wiki/Category:Tweed_Heads,_New_South_Wales\",town,,\n" +
		"4,http://commons.wikimedia.org/wiki/Category:Vi%C3%B1a,neighborhood  park,ocean area ,natural\n",
	"three columns, CRLF": "landmark_id,hierarchical_label,natural_or_human_made\r\n0,parks,natural\r\n2,ocean " +
		"area ,natural\r\n",
	"no line end at the end":  "landmark_id,cluster,overall_cluster\n0,parks,natural\n2,lake,natural",
	"byte order mark":         "\ufefflandmark_id,category\n0,http://commons.wikimedia.org/wiki/Category:X\n",
	"other columns and order": "name,category,landmark_id,\"lat, long\"\n\"St. A (B, C)\",u,5,1\nx,v,6,\"1, 2\"\n",
	"needless quotes":         "\"landmark_id\",\"category\"\n\"1\",\"a\"\n2,\"b\"\n3,c\n",
	"doubled quotes":          "landmark_id,category,note\n1,\"a\"\"b\",\"\"\"\"\n2,c,\"\"\n",
	"line end in a field":     "landmark_id,category\n1,\"a\nb\"\n2,\"c\r\nd\"\n",
	"mixed line ends":         "landmark_id,category\r\n1,a\n2,b\r\n3,c",
	"header alone":            "landmark_id,category\n",
	"header without line end": "landmark_id,category",
	"index column of pandas":  ",landmark_id,cluster,overall_cluster,size\n0,7,church,human-made,1.0\n1,8,,,2.0\n",
	"levels":                  "split,landmark_id,level_0,level_1\ntrain,1,a,x\nindex,1,b,x\n",
	"levels alone":            "level_0,level_1\na,x\nb,x\na,x\n",
	"images": "image_id,landmark_id,hierarchical_label,natural_or_human_made\n0a,1,lake,natural\n" +
		"0b,1,lake,natural\n",
	"unlabelled of labels " +
		"build": "split,landmark_id,category,tag,reason,detail\ntrain,1,u,,no_tag,\nindex,1,v,organization,tag_dropped,no " +
		"landmark\n",
}

func TestCSVRoundTripKeepsEveryByte(t *testing.T) {
	for name, text := range csvTexts {
		t.Run(name, func(t *testing.T) {
			table := must.Get(readCSV(strings.NewReader(text), "train.csv", ReadOptions{}))(t)
			var b bytes.Buffer
			must.Do(t, WriteCSV(&b, table, ""))
			if b.String() != text {
				t.Errorf("written\n%q\nwant\n%q", b.String(), text)
			}
		})
	}
}

func TestWriteCSVChangesOnlyTheRowsThatChanged(t *testing.T) {
	const text = "\ufefflandmark_id,note,hierarchical_label,natural_or_human_made\r\n" +
		"1,\"kept\",lake,natural\r\n2,\"a, b\",lake,natural\r\n3,\"gone\",lake,natural\r\n4,\"last\",lake,natural"
	table := must.Get(readCSV(strings.NewReader(text), "train.csv", ReadOptions{}))(t)
	table.Rows[1].Names[1] = "river, pond"
	added := LandmarkLabel{Landmark: 9, Split: Train, Names: []string{"train/9", "lake", "natural"}}
	table.Rows = append(table.Rows[:2:2], table.Rows[3], added)
	const want = "\ufefflandmark_id,note,hierarchical_label,natural_or_human_made\r\n" +
		"1,\"kept\",lake,natural\r\n2,\"a, b\",\"river, pond\",natural\r\n4,\"last\",lake,natural\r\n9,,lake,natural\r\n"
	var b bytes.Buffer
	must.Do(t, WriteCSV(&b, table, ""))
	if b.String() != want {
		t.Errorf("written\n%q\nwant\n%q", b.String(), want)
	}
	if table.sheet.rows[1].fields[2] != "lake" {
		t.Error("writing changed the table's memory of its file")
	}
}

func TestReadCSVNamesTheLineOfAnError(t *testing.T) {
	const header = "landmark_id,hierarchical_label,natural_or_human_made\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", `train.csv:1: the file is empty; want a header`},
		"BOM alone":          {"\ufeff", `train.csv:1: the file is empty`},
		"semicolons":         {"landmark_id;hierarchical_label\n", `train.csv:1: columns are separated by semicolons or tabs; want commas`},
		"column missing":     {"landmark_id,hierarchical_label\n", `train.csv:1: column "natural_or_human_made" is missing; got landmark_id,hierarchical_label`},
		"no label column":    {"landmark_id,name\n", `train.csv:1: column "category" is missing`},
		"column twice":       {"landmark_id,category,category\n", `train.csv:1: column "category" occurs twice`},
		"same thing":         {"landmark_id,cluster,overall_cluster,hierarchical_label\n", `train.csv:1: columns hierarchical_label and cluster mean the same`},
		"level missing":      {"landmark_id,level_0,level_2\n", `train.csv:1: column "level_1" is missing`},
		"too many fields":    {header + "1,lake,natural\n2,a,b,natural\n", `train.csv:3: 4 fields, want 3 as in the header; quote fields that contain a comma`},
		"too few fields":     {header + "1,lake\n", `train.csv:2: 2 fields, want 3`},
		"empty line":         {header + "\n1,lake,natural\n", `train.csv:2: the line is empty; want 3 fields`},
		"quote within":       {header + "1,la\"ke,natural\n", `train.csv:2: a quote inside the unquoted field`},
		"text behind quotes": {header + "1,\"lake\"x,natural\n", `train.csv:2: 'x' after a quoted field`},
		"quote not closed":   {header + "1,\"lake,natural\n2,x,y\n", `train.csv:2: a quote is opened and never closed`},
		"carriage return":    {header + "1,lake\r,natural\n", `train.csv:2: a carriage return without a line feed`},
		"line of a field":    {"landmark_id,category\n1,\"a\n\nb\"\nx,c\n", `train.csv:5: landmark_id: got "x"`},
		"NUL":                {header + "1,la\x00ke,natural\n", `train.csv:2: contains a NUL byte`},
		"Latin-1":            {header + "1,Vi\xf1a,natural\n", `train.csv:2: byte 0xf1 is not UTF-8`},
		"long field":         {header + "1," + strings.Repeat("x", maxLine+1) + ",natural\n", `train.csv:2: a field has 1048577 bytes`},
		"id text":            {header + "x,lake,natural\n", `train.csv:2: landmark_id: got "x", want a whole number from 0 to 2147483647`},
		"id of a sheet":      {header + "\"1 222,00\",lake,natural\n", `train.csv:2: landmark_id: got "1 222,00"`},
		"id float":           {header + "5.0,lake,natural\n", `train.csv:2: landmark_id: got "5.0"`},
		"id padded":          {header + "007,lake,natural\n", `train.csv:2: landmark_id: got "007"`},
		"id negative":        {header + "-1,lake,natural\n", `train.csv:2: landmark_id: got "-1"`},
		"id too large":       {header + "2147483648,lake,natural\n", `train.csv:2: landmark_id: got "2147483648"`},
		"split":              {"split,landmark_id,category\nTrain,1,u\n", `train.csv:2: split: got "Train", want one of [train`},
		"landmark twice":     {header + "1,lake,natural\n2,lake,natural\n1,lake,natural\n", `train.csv:4: train landmark 1 occurs twice, first at train.csv:2`},
		"half a label":       {header + "1,lake,\n", `train.csv:2: kind is empty; want a class at every level, or at none above the finest`},
		"other half":         {header + "1,,natural\n", `train.csv:2: supercategory is empty`},
		"two parents":        {header + "1,lake,natural\n2,x,natural\n3,lake,human-made\n", `supercategory "lake" has two parents: "natural" (train.csv:2) and "human-made" (train.csv:4)`},
		"level empty":        {"split,level_0,level_1\ntrain,,x\n", `train.csv:2: level_0 is empty`},
		"image twice":        {"image_id,landmark_id,category\na,1,u\na,2,u\n", `train.csv:3: train image a occurs twice, first at train.csv:2`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readCSV(strings.NewReader(c.text), "train.csv", ReadOptions{})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

func FuzzReadCSV(f *testing.F) {
	for _, text := range csvTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := readCSV(bytes.NewReader(data), "train.csv", ReadOptions{})
		if err != nil {
			return
		}
		var same bytes.Buffer
		if err := WriteCSV(&same, table, ""); err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		if !bytes.Equal(same.Bytes(), data) {
			t.Fatalf("written\n%q\nread\n%q", same.Bytes(), data)
		}
		var fresh, again bytes.Buffer
		must.Do(t, WriteCSV(&fresh, table, LevelsForm))
		table, err = readCSV(bytes.NewReader(fresh.Bytes()), "train.csv", ReadOptions{OneIDSpace: table.OneIDSpace})
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%q", err, fresh.Bytes())
		}
		must.Do(t, WriteCSV(&again, table, LevelsForm))
		if !bytes.Equal(fresh.Bytes(), again.Bytes()) {
			t.Fatalf("written again\n%q\nwas\n%q", again.Bytes(), fresh.Bytes())
		}
	})
}
