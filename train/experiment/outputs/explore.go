package outputs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"image"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"hgld/internal/atomicfile"
	"hgld/internal/crash"
	"hgld/internal/img"
	"hgld/internal/report"
	"hgld/train/input"
)

const (
	defaultPlaces = 10       // places per ranking
	pageQueries   = 10000    // queries on a page, the worst
	pagePictures  = 6000     // pictures of a page, those of the first queries; decoding them takes a minute
	pictureSide   = 240      // shorter side of a picture, in pixels
	pageBytes     = 20 << 20 // a page of more has its pictures beside it
)

// picturesOf returns the folder of the pictures that lie beside a page.
func picturesOf(page string) string {
	return strings.TrimSuffix(page, filepath.Ext(page)) + ".pictures"
}

// explored is the interactive part of a page under construction: its items, and where their images come from.
type explored struct {
	report.Explorer
	at      map[string]int   // item of a key
	classes []map[string]int // number of a class, by level
	images  []imageOf
}

// imageOf returns the encoded image of an item, and completes what is known of its file. nil: there is none.
type imageOf func(item *report.Item) ([]byte, error)

// withoutFile is an image of which only its bytes are known.
func withoutFile(image func() ([]byte, error)) imageOf {
	return func(*report.Item) ([]byte, error) { return image() }
}

func newExplored(metric string, levels []string, models ...string) *explored {
	x := &explored{at: map[string]int{}, classes: make([]map[string]int, len(levels))}
	x.Metric, x.Levels, x.Models, x.Legend = metric, levels, models, legend(levels)
	x.Classes = make([][]string, len(levels))
	for l := range x.classes {
		x.classes[l], x.Classes[l] = map[string]int{}, []string{}
	}
	return x
}

// judge turns the levels into grades of judgements, which are no classes.
func (x *explored) judge() {
	x.Judged = true
	for i := range x.Legend {
		text := strings.Replace(x.Legend[i].Text, "same ", "", 1)
		x.Legend[i].Text = strings.ReplaceAll(text, "nothing in common", "not relevant")
	}
}

// add adds an item with a key, unless it is there, and returns its number. classes are the names of its classes,
// finest first, "" for none.
func (x *explored) add(key string, item report.Item, classes []string, image imageOf) int {
	if i, has := x.at[key]; has {
		return i
	}
	for l := range x.Levels {
		n := -1
		if l < len(classes) && classes[l] != "" {
			known := false
			if n, known = x.classes[l][classes[l]]; !known {
				n = len(x.Classes[l])
				x.classes[l][classes[l]] = n
				x.Classes[l] = append(x.Classes[l], classes[l])
			}
		}
		item.Classes = append(item.Classes, n)
	}
	x.at[key] = len(x.Items)
	x.Items = append(x.Items, &item)
	x.images = append(x.images, image)
	return len(x.Items) - 1
}

// write adds the interactive part to a page and writes it, with its pictures in it or beside it. Its error is an
// [UnshownError] if images could not be shown.
func (x *explored) write(ctx context.Context, path string, out *report.Page) error {
	unshown := UnshownError{Path: path}
	kept, err := x.pictures(ctx, path, &unshown)
	if err != nil {
		return err
	}
	for i := range x.Queries {
		for _, found := range x.Queries[i].Found {
			x.Places = max(x.Places, len(found))
		}
	}
	if out.App, err = x.App(); err != nil {
		return err
	}
	if err := atomicfile.Write(path, out.Write); err != nil {
		return err
	}
	if err := removePictures(picturesOf(path), kept); err != nil {
		return err
	}
	if unshown.Images > 0 {
		return &unshown
	}
	return nil
}

// pictures makes the pictures of the first items, and returns the names of those that lie beside the page.
func (x *explored) pictures(ctx context.Context, path string, unshown *UnshownError) (kept map[string]bool, err error) {
	n := min(len(x.images), pagePictures)
	small, failed := make([][]byte, n), make([]error, n)
	decoder, err := img.RepeatableDecoder()
	if err != nil {
		return nil, err
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Add(1)
		go func() {
			defer crash.Guard()
			defer workers.Done()
			for i := range next {
				data, err := x.images[i](x.Items[i])
				if err == nil {
					data, err = thumbnail(decoder, data, x.Items[i].Box)
				}
				small[i], failed[i] = data, err
			}
		}()
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		if x.images[i] != nil {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	total := 0
	for i, data := range small {
		total += len(data)
		if failed[i] != nil {
			x.Items[i].Missing = fmt.Sprintf("%s: %v", x.Items[i].ID, failed[i])
			unshown.Images++
			unshown.First = cmp.Or(unshown.First, x.Items[i].Missing)
		}
	}
	if n < len(x.images) && x.images[n] != nil {
		x.Note += fmt.Sprintf(" The page has the pictures of the first %d of %d images.", n, len(x.images))
	}
	return x.place(path, small, total*4/3 > pageBytes)
}

// place puts the pictures into the page or, as files named by their content, into the folder beside it.
func (x *explored) place(path string, small [][]byte, beside bool) (kept map[string]bool, err error) {
	folder := picturesOf(path)
	if beside {
		if err := atomicfile.MkdirAll(folder, 0o777); err != nil {
			return nil, err
		}
	}
	kept = map[string]bool{}
	for i, data := range small {
		switch {
		case data == nil:
		case !beside:
			x.Items[i].Source = report.JPEG(data)
		default:
			sum := sha256.Sum256(data)
			name := hex.EncodeToString(sum[:8]) + ".jpg"
			x.Items[i].Source = template.URL(url.PathEscape(filepath.Base(folder)) + "/" + name)
			kept[name] = true
			if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
				continue // it was written whole, with this content
			}
			if err := atomicfile.WriteFile(filepath.Join(folder, name), data); err != nil {
				return nil, err
			}
		}
	}
	return kept, nil
}

// pictureName is what place calls a picture.
var pictureName = regexp.MustCompile(`^[0-9a-f]{16}\.jpg$`)

// removePictures removes the pictures of an earlier page that this one does not show, and no other file.
func removePictures(folder string, kept map[string]bool) error {
	entries, err := os.ReadDir(folder)
	if err != nil && atomicfile.IsMissing(err) || err != nil && len(kept) == 0 {
		return nil // there is none, or it is no folder and nobody's pictures
	}
	for _, e := range entries {
		if pictureName.MatchString(e.Name()) && !kept[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	if len(kept) == 0 {
		os.Remove(folder) // fails if somebody else has files there
	}
	return err
}

// thumbnail scales an image file down to a small JPEG, in which a frame shows the box, if there is one.
func thumbnail(d *img.Decoder, data []byte, box *[4]int) ([]byte, error) {
	m, err := d.Small(data, pictureSide, img.Bicubic)
	if err == nil && box != nil {
		err = drawBox(d, m, data, image.Rect(box[0], box[1], box[2], box[3]))
	}
	if err != nil {
		return nil, err
	}
	return img.EncodeJPEG(m, 80, nil) // a profile may be larger than the picture
}

// boxLines are the colours of a frame from its outside in: yellow between black is seen on any picture.
var boxLines = [][3]byte{{}, {255, 214, 0}, {255, 214, 0}, {255, 214, 0}, {255, 214, 0}, {255, 214, 0}, {}}

// drawBox draws the frame of a box, whose pixels are those of the image file, in the small picture of that file.
func drawBox(d *img.Decoder, m *img.RGB, data []byte, box image.Rectangle) error {
	info, err := d.Info(data)
	if err != nil {
		return err
	}
	if box, err = input.Within(box, image.Rect(0, 0, info.W, info.H)); err != nil {
		return err
	}
	small := image.Rect(box.Min.X*m.W/info.W, box.Min.Y*m.H/info.H, box.Max.X*m.W/info.W, box.Max.Y*m.H/info.H)
	for i, colour := range boxLines {
		edge := small.Inset(i)
		inner := edge.Inset(1)
		for y := edge.Min.Y; y < edge.Max.Y; y++ {
			for x := edge.Min.X; x < edge.Max.X; x++ {
				if !image.Pt(x, y).In(inner) {
					copy(m.Pix[3*(y*m.W+x):], colour[:])
				}
			}
		}
	}
	return nil
}
