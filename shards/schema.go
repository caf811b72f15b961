package shards

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/labels"
)

// Schema describes the columns of a data set's shards. All data sets have image,
// image_id, split, a column for each level, size, hash and attributes. The levels are
//
//	GLDv2 (Landmarks)   landmark_id, hierarchical_label, natural_or_human_made
//	every other set     level_0 … level_{L−1}, finest first
//
// Level columns hold class numbers (ClassLabel). Only landmark_id holds the id of GLDv2's
// files; its class is called "split/id", because train and index number their landmarks
// independently. Test images have landmarks of the index.
type Schema struct {
	Classes   *labels.Hierarchy // the tree of classes
	Landmarks bool              // GLDv2's columns; the levels are landmark, supercategory and kind
}

// levelColumn returns the name of a level's column.
func (s *Schema) levelColumn(level int) string {
	if s.Landmarks {
		return [...]string{"landmark_id", "hierarchical_label", "natural_or_human_made"}[level]
	}
	return "level_" + strconv.Itoa(level)
}

// check checks that the columns can hold the hierarchy.
func (s *Schema) check() error {
	if err := s.Classes.Check(); err != nil {
		return err
	}
	if s.Landmarks && len(s.Classes.Levels) != 3 {
		return fmt.Errorf("a landmark data set has 3 levels (landmark, supercategory, kind), but this one has "+
			"%d", len(s.Classes.Levels))
	}
	return nil
}

// column is one leaf of the schema: how it is stored, how the Hub is told about it, and
// how it is converted from and to a Row.
type column struct {
	name    string
	node    parquet.Node
	feature any
	put     func(r *Row) parquet.Value
	get     func(r *Row, v parquet.Value) error
	about   string // for the card; see says
}

// says adds the description that the card gives of a column.
func (c column) says(about string) column {
	c.about = about
	return c
}

// inImage reports whether the column is a child of image.
func (c *column) inImage() bool { return c.name == "bytes" || c.name == "path" }

// The Hub's names of types. The Hub accepts a feature only if the column's type and
// optionality equal those of the feature. Every column is therefore optional, and class
// numbers are int64.
type (
	valueFeature struct {
		DType string `json:"dtype"`
		Type  string `json:"_type"`
	}
	classFeature struct {
		Names []string `json:"names"`
		Type  string   `json:"_type"`
	}
)

// columns lists the leaves in order. The first two are the children of image.
func (s *Schema) columns() []column {
	cols := []column{
		{name: "bytes", node: parquet.Compressed(parquet.Encoded(parquet.Leaf(parquet.ByteArrayType), &parquet.Plain),
			&parquet.Uncompressed),
			put: func(r *Row) parquet.Value { return parquet.ByteArrayValue(r.Image) },
			get: func(r *Row, v parquet.Value) error { r.Image = v.ByteArray(); return nil }},
		plainText("path", func(r *Row) *string { return &r.Path }),
		imageIDColumn(),
		splitColumn(),
	}
	for l := range s.Classes.Levels {
		cols = append(cols, s.classColumn(l))
	}
	if s.Landmarks {
		cols = append(cols, landmarkColumns()...)
	}
	return slices.Concat(cols, imageColumns(), creditColumns())
}

// imageColumns are the columns with the size and the hash of an image.
func imageColumns() []column {
	return []column{
		sizeColumn("width", func(r *Row) *int { return &r.W }).says("pixels, as seen"),
		sizeColumn("height", func(r *Row) *int { return &r.H }).says("pixels, as seen"),
		hashColumn().says("of the image file"),
	}
}

// landmarkColumns are the columns with what is known of a landmark.
func landmarkColumns() []column {
	return []column{
		dictText("category_url", func(r *Row) *string { return &r.Attributes.CategoryURL }),
		dictText("wikidata_qid", func(r *Row) *string { return &r.Attributes.WikidataQID }),
		dictText("supercategory", func(r *Row) *string { return &r.Attributes.Tag }),
		dictText("label_source", func(r *Row) *string { return &r.Attributes.LabelSource }),
	}
}

// creditColumns are the columns with the author and licence of an image, and what was
// done to it.
func creditColumns() []column {
	return []column{
		dictText("author", func(r *Row) *string { return &r.Attributes.Author }).says("of the image"),
		dictText("license", func(r *Row) *string { return &r.Attributes.License }).says("of the image"),
		plainText("title", func(r *Row) *string { return &r.Attributes.Title }).says("of the image"),
		plainText("source_url", func(r *Row) *string { return &r.Attributes.SourceURL }).says("where the image is from"),
		dictText("modified", func(r *Row) *string { return &r.Attributes.Modifications }).
			says("what was changed of the image"),
	}
}

func zstd(n parquet.Node) parquet.Node { return parquet.Compressed(n, &parquet.Zstd) }

// plainText is a column of texts that rarely repeat.
func plainText(name string, field func(*Row) *string) column {
	return textColumn(name, zstd(parquet.Encoded(parquet.String(), &parquet.Plain)), field)
}

// dictText is a column of texts that repeat.
func dictText(name string, field func(*Row) *string) column {
	return textColumn(name, zstd(parquet.Encoded(parquet.String(), &parquet.RLEDictionary)), field)
}

func textColumn(name string, node parquet.Node, field func(*Row) *string) column {
	return column{name: name, node: node, feature: valueFeature{"string", "Value"},
		put: func(r *Row) parquet.Value {
			if *field(r) == "" {
				return parquet.NullValue()
			}
			return parquet.ByteArrayValue([]byte(*field(r)))
		},
		get: func(r *Row, v parquet.Value) error { *field(r) = string(v.ByteArray()); return nil }}
}

func imageIDColumn() column {
	c := plainText("image_id", nil)
	c.put = func(r *Row) parquet.Value { return parquet.ByteArrayValue([]byte(r.ID.String())) }
	c.get = func(r *Row, v parquet.Value) (err error) {
		id, ok := ParseImageID(string(v.ByteArray()))
		if !ok {
			return fmt.Errorf("image_id %.80q, want 16 hexadecimal digits", v.ByteArray())
		}
		r.ID = id
		return nil
	}
	return c
}

func splitColumn() column {
	c := dictText("split", nil)
	c.put = func(r *Row) parquet.Value { return parquet.ByteArrayValue([]byte(r.Split)) }
	c.get = func(r *Row, v parquet.Value) error { r.Split = labels.Split(v.ByteArray()); return nil }
	return c
}

func hashColumn() column {
	c := plainText("sha256", nil)
	c.put = func(r *Row) parquet.Value { return parquet.ByteArrayValue([]byte(hex.EncodeToString(r.SHA256[:]))) }
	c.get = func(r *Row, v parquet.Value) error { return (*Hash)(&r.SHA256).UnmarshalText(v.ByteArray()) }
	return c
}

func sizeColumn(name string, field func(*Row) *int) column {
	return column{name: name, node: zstd(parquet.Encoded(parquet.Leaf(parquet.Int32Type), &parquet.RLEDictionary)),
		feature: valueFeature{"int32", "Value"},
		put:     func(r *Row) parquet.Value { return parquet.Int32Value(int32(*field(r))) },
		get:     func(r *Row, v parquet.Value) error { *field(r) = int(v.Int32()); return nil }}
}

// classColumn is the column of a level. It is NULL for a row without a class.
func (s *Schema) classColumn(level int) column {
	c := column{
		name: s.levelColumn(level),
		node: zstd(parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.RLEDictionary)),
		put: func(r *Row) parquet.Value {
			if r.Labels[level] < 0 {
				return parquet.NullValue()
			}
			return parquet.Int64Value(int64(r.Labels[level]))
		},
		get: func(r *Row, v parquet.Value) error {
			if v.IsNull() {
				r.Labels[level] = -1
				return nil
			}
			n := len(s.Classes.Levels[level].Classes)
			if v.Int64() < 0 || v.Int64() >= int64(n) {
				return fmt.Errorf("%s %d, want 0 to %d", s.levelColumn(level), v.Int64(), n-1)
			}
			r.Labels[level] = int32(v.Int64())
			return nil
		},
	}
	if s.Landmarks && level == 0 {
		c.feature = valueFeature{"int64", "Value"}
		c.put, c.get = putLandmark, getLandmark
		return c
	}
	names := []string{}
	for _, class := range s.Classes.Levels[level].Classes {
		names = append(names, class.Name)
	}
	c.feature = classFeature{names, "ClassLabel"}
	return c
}

func putLandmark(r *Row) parquet.Value {
	if r.Labels[0] < 0 {
		return parquet.NullValue()
	}
	return parquet.Int64Value(int64(r.Landmark))
}

// getLandmark does not set the class, which is looked up by name: see landmarkClass.
func getLandmark(r *Row, v parquet.Value) error {
	r.Labels[0], r.Landmark = -1, -1
	if !v.IsNull() {
		r.Landmark = labels.LandmarkID(v.Int64())
		if int64(r.Landmark) != v.Int64() || r.Landmark < 0 {
			return fmt.Errorf("landmark_id %d is out of range", v.Int64())
		}
	}
	return nil
}

// ordered is a group that keeps the order of its fields; parquet.Group sorts them.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }

// parquet returns the schema of the given columns for the library.
func (s *Schema) parquet(cols []column) *parquet.Schema {
	image := parquet.Group{}
	root := parquet.Group{}
	for _, c := range cols {
		if c.inImage() {
			image[c.name] = parquet.Optional(c.node)
		} else {
			root[c.name] = parquet.Optional(c.node)
		}
	}
	names := []string{"image"}
	root["image"] = parquet.Optional(image) // its children come in the order bytes, path
	for _, c := range cols {
		if !c.inImage() {
			names = append(names, c.name)
		}
	}
	return parquet.NewSchema("hgld", inOrder(root, names))
}

// flatSchema returns the schema of columns outside image for the library.
func flatSchema(name string, cols []column) *parquet.Schema {
	group := parquet.Group{}
	var names []string
	for _, c := range cols {
		group[c.name] = parquet.Optional(c.node)
		names = append(names, c.name)
	}
	return parquet.NewSchema(name, inOrder(group, names))
}

// inOrder orders the fields of a group like names.
func inOrder(group parquet.Group, names []string) ordered {
	byName := map[string]parquet.Field{}
	for _, f := range group.Fields() {
		byName[f.Name()] = f
	}
	o := ordered{Group: group}
	for _, name := range names {
		o.fields = append(o.fields, byName[name])
	}
	return o
}

// features returns the value of the footer key "huggingface".
func features(cols []column) (string, error) {
	var list []string
	for _, c := range cols {
		v, err := json.Marshal(c.feature)
		if err != nil {
			return "", err
		}
		switch c.name {
		case "bytes": // a child of image, as path is
			list = append(list, `"image":{"_type":"Image"}`)
		case "path":
		default:
			list = append(list, `"`+c.name+`":`+string(v))
		}
	}
	return `{"info":{"features":{` + strings.Join(list, ",") + "}}}", nil
}

// values appends the leaves of a row.
func values(dst parquet.Row, cols []column, r *Row) parquet.Row {
	for i := range cols {
		v := cols[i].put(r)
		level := 1
		if cols[i].inImage() {
			level = 2 // image and its child are both optional
		}
		if v.IsNull() {
			level--
		}
		dst = append(dst, v.Level(0, level, i))
	}
	return dst
}

// row converts the leaves of a row. Byte slices of the result share their memory.
func row(cols []column, leaves parquet.Row, levels int) (*Row, error) {
	if len(leaves) != len(cols) {
		return nil, fmt.Errorf("%d values, want %d", len(leaves), len(cols))
	}
	r := &Row{Labels: make(labels.Path, levels)}
	for i, v := range leaves {
		if v.Column() != i {
			return nil, fmt.Errorf("value %d belongs to column %d", i, v.Column())
		}
		if err := cols[i].get(r, v); err != nil {
			return nil, err
		}
	}
	return r, nil
}
