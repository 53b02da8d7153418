"""Draws a page as SVG, from the boxes and texts in its document."""

import html
import re

# The visible boxes, borders and texts, in the order in which they are drawn.
PARTS = """(() => {
    const parts = [];
    const addBox = ({ x, y, width, height }, { backgroundColor: color, borderRadius }) => {
        if (/, 0\\)$/.test(color)) return;
        const radius = borderRadius.endsWith("%") ? width / 2 : Math.min(parseFloat(borderRadius), height / 2);
        parts.push({ kind: "box", x, y, width, height, color, radius });
    };
    const addBorder = (box, style) => {
        const line = parseFloat(style.borderBottomWidth), color = style.borderBottomColor;
        if (line === 0) return;
        if (parseFloat(style.borderTopWidth) === 0) {
            parts.push({ kind: "box", x: box.x, y: box.bottom - line, width: box.width, height: line, color, radius: 0 });
        } else {
            // SVG draws a line on both sides of an edge.
            parts.push({
                kind: "border", x: box.x + line / 2, y: box.y + line / 2, width: box.width - line,
                height: box.height - line, color, line,
                radius: Math.min(parseFloat(style.borderRadius), box.height / 2) });
        }
    };
    const addText = (text, { x, y, width, height }, { fontSize, fontWeight: weight, color }) => {
        parts.push({ kind: "text", text, x, width, middle: y + height / 2, size: parseFloat(fontSize), weight, color });
    };
    const visit = (element) => {
        const style = getComputedStyle(element), box = element.getBoundingClientRect();
        if (!element.checkVisibility({ opacityProperty: true }) || style.clipPath !== "none") return;
        addBox(box, style);
        const x = box.x + parseFloat(style.borderLeftWidth) + parseFloat(style.paddingLeft);
        const before = getComputedStyle(element, "::before");
        if (before.content === '""') {
            const width = parseFloat(before.width), height = parseFloat(before.height);
            addBox({ x, y: box.y + (box.height - height) / 2, width, height }, before);
        }
        if (element.placeholder) {
            const pen = document.createElement("canvas").getContext("2d");
            pen.font = style.font;
            const { width } = pen.measureText(element.placeholder);
            addText(element.placeholder, { x, y: box.y, width, height: box.height },
                getComputedStyle(element, "::placeholder"));
        }
        for (const child of element.childNodes) {
            if (child.nodeType === Node.ELEMENT_NODE) visit(child);
            if (child.nodeType !== Node.TEXT_NODE || child.data.trim() === "") continue;
            const range = document.createRange();
            range.selectNodeContents(child);
            addText(child.data.trim(), range.getBoundingClientRect(), style);
        }
        addBorder(box, style);
    };
    visit(document.body);
    return parts;
})()"""

BAR = 28


def draw(page, title, width, height):
    """Returns a picture of a page whose window has a size, below a bar as windows have it."""
    body = "\n".join(map(draw_part, page.value(PARTS)))
    buttons = "".join(f'<circle cx="{x}" cy="{BAR / 2:g}" r="5" fill="#8c959f"/>' for x in (18, 36, 54))
    frame = f'width="{width}" height="{height + BAR}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + BAR}" {frame} role="img" \
font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif">
<title>{html.escape(title)}</title>
<clipPath id="frame"><rect {frame} rx="10"/></clipPath>
<g clip-path="url(#frame)">
<rect {frame} fill="#d8dee6"/>
{buttons}
<g transform="translate(0 {BAR})">
{body}
</g>
</g>
<rect x="1" y="1" width="{width - 2}" height="{height + BAR - 2}" rx="9" fill="none" stroke="#8c959f" stroke-width="2"/>
</svg>
"""


def draw_part(part):
    x, width, color = part["x"], part["width"], part["color"]
    if part["kind"] == "text":
        size = part["size"]
        return (f'<text x="{x:.1f}" y="{part["middle"] + 0.35 * size:.1f}" textLength="{width:.1f}"'
                f' lengthAdjust="spacingAndGlyphs" font-size="{size:g}" font-weight="{part["weight"]}"'
                f' fill="{color}">{html.escape(part["text"])}</text>')
    paint = f'fill="{color}"' if part["kind"] == "box" else f'fill="none" stroke="{color}" stroke-width="{part["line"]:g}"'
    return (f'<rect x="{x:.1f}" y="{part["y"]:.1f}" width="{width:.1f}" height="{part["height"]:.1f}"'
            f' rx="{part["radius"]:g}" {paint}/>')


def texts(svg):
    """Returns the texts in a picture."""
    return [html.unescape(text) for text in re.findall("<text[^>]*>([^<]*)</text>", svg)]
