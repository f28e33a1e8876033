package providers

import (
	"bytes"
	"image"
	_ "image/gif" // what people send
	"image/jpeg"
	"image/png"

	_ "golang.org/x/image/bmp" // what vendors don't take is sent as JPEG or PNG
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"clawbot/agentcore"
)

// The strictest limits among the vendors. All of them scale an image down to
// less than this themselves, so nothing is lost by sending no more.
const (
	maxImageBytes  = 3_750_000 // 5 MB as base64
	maxImageSide   = 2000      // pixels
	maxImagePixels = 50_000_000
)

// sentTypes are the image types that every vendor takes.
var sentTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// sendable reports whether an image can be sent, perhaps after [FitImage]. It
// reads no more than the image's header.
func sendable(img agentcore.Image) bool {
	if len(img.Data) == 0 {
		return false
	}
	cfg, _, err := image.DecodeConfig(bytes.NewReader(img.Data))
	if err != nil {
		return sentTypes[img.MIMEType] && len(img.Data) <= maxImageBytes // the vendor may know better
	}
	return cfg.Width*cfg.Height <= maxImagePixels
}

// FitImage returns the image as every vendor takes it: scaled down if it is too
// large, and as JPEG or PNG if it is of another type. An image that fits is
// returned as it is.
func FitImage(img agentcore.Image) agentcore.Image {
	cfg, _, err := image.DecodeConfig(bytes.NewReader(img.Data))
	if err != nil || sentTypes[img.MIMEType] && len(img.Data) <= maxImageBytes && max(cfg.Width, cfg.Height) <= maxImageSide {
		return img
	}
	decoded, _, err := image.Decode(bytes.NewReader(img.Data))
	if err != nil {
		return img
	}
	for side := maxImageSide; side >= 100; side /= 2 {
		scaled := scale(decoded, side)
		if fitted, ok := encode(scaled); ok {
			return fitted
		}
	}
	return img
}

// scale returns the image with no side longer than side.
func scale(src image.Image, side int) image.Image {
	b := src.Bounds()
	long := max(b.Dx(), b.Dy())
	if long <= side {
		return src
	}
	dst := image.NewRGBA(image.Rect(0, 0, max(1, b.Dx()*side/long), max(1, b.Dy()*side/long)))
	draw.ApproxBiLinear.Scale(dst, dst.Bounds(), src, b, draw.Src, nil)
	return dst
}

// encode writes an image as PNG where that is needed to keep what is
// transparent, else as JPEG; false if the result is still too large.
func encode(img image.Image) (agentcore.Image, bool) {
	var out bytes.Buffer
	mime := "image/jpeg"
	var err error
	if opaque, ok := img.(interface{ Opaque() bool }); ok && !opaque.Opaque() {
		mime, err = "image/png", png.Encode(&out, img)
	} else {
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: 85})
	}
	return agentcore.Image{MIMEType: mime, Data: out.Bytes()}, err == nil && out.Len() <= maxImageBytes
}
