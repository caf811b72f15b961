package labels

import (
	"bytes"
	"testing"

	"hgld/internal/testing/longdata"
)

func TestErrorsQuoteLittleOfAFile(t *testing.T) {
	const classes = `[{"name":"church","qid":"Q1","parent":0},{"name":"bay","qid":"","parent":-1,"dropped":"no"}]`
	for name, c := range map[string]struct {
		sample string
		read   func(data []byte) error
	}{
		"tags.jsonl": {`{"hgld_tags":1,"split":"train"}
{"landmark_id":5,"split":"train","category":"A","outcome":"ok","tag":"church","values":[]}
`, func(data []byte) error { _, _, err := ReadTags(bytes.NewReader(data), "tags.jsonl"); return err }},
		"draft.json": {`{"hgld_draft":1,"tags":[{"name":"church","landmarks":3}],"clusters":[{"id":0,"name":"a","members":[{"tag":0,"distance":0}],"landmarks":3}]}`,
			func(data []byte) error { _, err := ReadDraft(bytes.NewReader(data), "draft.json"); return err }},
		"hierarchy.json": {`{"hgld_hierarchy":1,"levels":[{"name":"tag","classes":` + classes + `},{"name":"kind","classes":[{"name":"x","parent":-1}]}]}`,
			func(data []byte) error { _, err := ReadHierarchy(bytes.NewReader(data), "hierarchy.json"); return err }},
		"labels.json": {`{"hgld_labels":1,"levels":["tag","kind"],"rows":[{"split":"train","landmark_id":4,"names":["a","b"]}]}`,
			func(data []byte) error { _, err := ParseTable(bytes.NewReader(data), "labels.json"); return err }},
		"train.csv": {"landmark_id,category,supercategory,hierarchical_label,natural_or_human_made\n" +
			"7,http://commons.wikimedia.org/wiki/Category:A,church,church,human-made\n",
			func(data []byte) error {
				table, err := ParseCSV(bytes.NewReader(data), "train.csv", ReadOptions{})
				if err == nil {
					err = table.Build()
				}
				return err
			}},
		"tags.csv": {"landmark_id,category,instance_of\n7,A,\"church\"\n",
			func(data []byte) error {
				_, err := ReadTagTable(bytes.NewReader(data), "tags.csv", "instance_of", ReadOptions{Split: Train})
				return err
			}},
		"images.csv": {"landmark_id,images\n7,ab cd\n",
			func(data []byte) error {
				_, err := ReadImageCounts(bytes.NewReader(data), "images.csv", ReadOptions{Split: Train})
				return err
			}},
	} {
		t.Run(name, func(t *testing.T) { longdata.Replace(t, []byte(c.sample), c.read) })
	}
	t.Run("category", func(t *testing.T) {
		longdata.Replace(t, []byte("http://commons.wikimedia.org/wiki/Category:A%20b"), func(data []byte) error {
			_, err := Title(string(data))
			return err
		})
	})
}
