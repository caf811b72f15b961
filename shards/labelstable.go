package shards

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/labels"
)

// LabelsFile is the table of classes that WriteCard writes, the configuration "labels" of the card. It has a row for
// each class without a class below it, in the order of hierarchy.json, those of finer levels first. If all levels are
// filled, that is a row for each class of the finest level. Its columns are
//
//	split                           of the landmark; only in landmark sets
//	landmark_id or level_0 …        as in the shards; NULL if the row has no class at the level
//	level_0_name …                  name of the class; none for landmarks
//	category_url … label_source     as in the shards; only in landmark sets
//	images                          number of images with the class, in all splits
const LabelsFile = "labels.parquet"

// labelsTable returns LabelsFile and its number of rows. attributes are those of the landmarks, by class.
func (s *Set) labelsTable(attributes map[int32]Attributes) (data []byte, rows int, err error) {
	cols := s.labelColumns()
	features, err := features(cols)
	if err != nil {
		return nil, 0, err
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[any](&out, flatSchema("labels", cols),
		parquet.CreatedBy("hgld", "1", "parquet-go")) // not the build's version: equal inputs, equal bytes
	w.SetKeyValueMetadata("huggingface", features)
	var leaves parquet.Row
	for level, l := range s.classes.Levels {
		for _, c := range s.classes.Leaves(level) {
			r := &Row{Labels: s.classes.PathFrom(level, c)}
			if s.manifest.Landmarks && level == 0 {
				r.Split, r.Landmark = landmarkNamed(l.Classes[c].Name)
				r.Attributes = attributes[c]
			}
			leaves = values(leaves[:0], cols, r)
			if _, err := w.WriteRows([]parquet.Row{leaves}); err != nil {
				return nil, 0, err
			}
			rows++
		}
	}
	err = w.Close()
	return out.Bytes(), rows, err
}

// landmarkNamed returns the landmark of a class of landmarks, such as "train/7".
func landmarkNamed(name string) (labels.Split, labels.LandmarkID) {
	split, number, _ := strings.Cut(name, "/")
	id, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return "", -1
	}
	return labels.Split(split), labels.LandmarkID(id)
}

// labelColumns lists the columns of LabelsFile.
func (s *Set) labelColumns() (cols []column) {
	schema := &Schema{Classes: s.classes, Landmarks: s.manifest.Landmarks}
	if schema.Landmarks {
		cols = append(cols, splitColumn())
	}
	for level, l := range s.classes.Levels {
		cols = append(cols, schema.classColumn(level))
		if schema.Landmarks && level == 0 {
			continue
		}
		name := dictText(schema.levelColumn(level)+"_name", nil)
		name.put = func(r *Row) parquet.Value {
			if c := r.Labels[level]; c >= 0 {
				return parquet.ByteArrayValue([]byte(l.Classes[c].Name))
			}
			return parquet.NullValue()
		}
		cols = append(cols, name)
	}
	if schema.Landmarks {
		cols = append(cols, landmarkColumns()...)
	}
	images := sizeColumn("images", nil)
	images.put = func(r *Row) parquet.Value {
		level := slices.IndexFunc(r.Labels, func(c int32) bool { return c >= 0 })
		n := 0
		for _, of := range s.manifest.Levels[level].Rows {
			n += of[r.Labels[level]]
		}
		return parquet.Int32Value(int32(n))
	}
	return append(cols, images)
}
