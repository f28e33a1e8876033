package pdftext

import "slices"

// page is a page that is to be shown.
type page struct {
	contents  object
	resources dict
}

// pages lists the pages in their order.
func (f *file) pages() []page {
	root, _ := f.dict(f.trailer["Root"])
	var list []page
	f.walk(root["Pages"], nil, map[ref]bool{}, 0, &list)
	if len(list) > 0 {
		return list
	}
	// The tree is damaged: whatever calls itself a page is one.
	nums := make([]int, 0, len(f.objects))
	for n := range f.objects {
		nums = append(nums, n)
	}
	slices.Sort(nums)
	for _, n := range nums {
		if d, ok := f.resolve(ref{num: n}).(dict); ok && d["Type"] == name("Page") && len(list) < maxPages {
			resources, _ := f.dict(d["Resources"])
			list = append(list, page{d["Contents"], resources})
		}
	}
	return list
}

func (f *file) walk(o object, resources dict, seen map[ref]bool, depth int, list *[]page) {
	if depth > maxDepth || len(*list) >= maxPages || f.ctx.Err() != nil {
		return
	}
	if r, ok := o.(ref); ok {
		if seen[r] {
			return
		}
		seen[r] = true
	}
	node, ok := f.resolve(o).(dict)
	if !ok {
		return
	}
	if own, ok := f.dict(node["Resources"]); ok {
		resources = own
	}
	kids, isTree := f.resolve(node["Kids"]).(array)
	if !isTree {
		if f.name(node["Type"]) != "Pages" {
			*list = append(*list, page{node["Contents"], resources})
		}
		return
	}
	for _, kid := range kids {
		f.walk(kid, resources, seen, depth+1, list)
	}
}

// show writes what a page says.
func (f *file) show(p page, w *layout) {
	var content []byte
	switch o := f.resolve(p.contents).(type) {
	case *stream:
		content = f.decode(o)
	case array:
		for _, part := range o {
			if s, ok := f.resolve(part).(*stream); ok && len(content) < maxStream {
				content = append(append(content, f.decode(s)...), '\n')
			}
		}
	}
	f.run(content, p.resources, identity, w, 0)
}
