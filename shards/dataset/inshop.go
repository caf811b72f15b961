package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"hgld/labels"
	"hgld/shards"
)

// InShop imports the In-shop Clothes Retrieval Benchmark of DeepFashion (Liu et
// al., CVPR 2016) as published:
//
//	Eval/list_eval_partition.txt (or at the top)
//	    52712
//	    image_name item_id evaluation_status
//	    img/WOMEN/Dresses/id_00000002/02_1_front.jpg  id_00000002  train
//	img/WOMEN/Dresses/… or Img/img/WOMEN/Dresses/…, or the large images: Img/img_highres/WOMEN/Dresses/…
//
// The first line is the number of records. Columns are separated by spaces, and the last
// is the split: train, query or gallery. Query and gallery share their items; training has
// other items.
//
// The levels are item (item_id) and category, the two folders of the path
// (WOMEN/Dresses), of which there are 23 (Rolínek et al., "RaMBO", CVPR 2020). The
// optional third level is department (WOMEN, MEN).
type InShop struct{}

const inShopColumns = "image_name item_id evaluation_status"

// Open reads the list.
func (InShop) Open(ctx context.Context, s Settings) (shards.Source, error) {
	known := []level{{name: "item"}, {name: "category"}, {name: "department", optional: true}}
	const list = "list_eval_partition.txt"
	marks := []string{"Eval/" + list, list}
	return importer(ctx, "in-shop", s, known, marks, func(p *published) error {
		name := marks[0]
		if !p.has(name) {
			name = marks[1]
		}
		records := -1
		rest := header(inShopColumns, p.inShopRecord)
		err := p.lines(ctx, name, func(text, where string) (err error) {
			if records >= 0 {
				return rest(text, where)
			}
			if records, err = strconv.Atoi(text); err != nil || records < 0 {
				return fmt.Errorf("%.80q; want the number of records; the published file begins with 52712", text)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if records != len(p.records) {
			return fmt.Errorf("%s has %d records, but its first line says %d: it was cut or changed; take the file as it was "+
				"published", name, len(p.records), records)
		}
		published := []count{{labels.Train, 25882, 3997}, {labels.Query, 14218, 3985}, {labels.Gallery, 12612, 3985}}
		p.prefix = "img/"
		return p.checkComplete(published, "", "Img", "img_highres", "Img/img_highres")
	})
}

// inShopRecord parses a line. The path comes first and may contain spaces.
func (p *published) inShopRecord(text, where string) error {
	columns := strings.Fields(text)
	if len(columns) < 3 {
		return fmt.Errorf("%d columns, want 3: %s", len(columns), inShopColumns)
	}
	item, status := columns[len(columns)-2], columns[len(columns)-1]
	split := labels.Split(status)
	if split != labels.Train && split != labels.Query && split != labels.Gallery {
		return fmt.Errorf("evaluation_status %.80q; want train, query or gallery", status)
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(item, "id_")); err != nil || n < 0 || !strings.HasPrefix(item, "id_") {
		return fmt.Errorf("item_id %.80q; want one such as id_00000002", item)
	}
	file := strings.TrimSpace(text[:strings.LastIndex(strings.TrimSuffix(text, status), item)])
	folders := strings.Split(path.Dir(file), "/")
	if len(folders) < 3 {
		return errors.New("path " + strconv.Quote(file) + "; want img/department/category/…/file")
	}
	class := map[string]string{"item": item, "category": folders[1] + "/" + folders[2], "department": folders[1]}
	return p.add(record{path: file, split: split, names: p.levelClasses(class), where: where})
}
