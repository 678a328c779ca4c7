/** The style sheet of what chart-part.ts shows. */
export const CHART_STYLES = `
.plot { display: block; width: 100%; margin-top: 2px; overflow: visible }
.plot text { fill: var(--_soft); font-size: 11.5px }
.plot .name { fill: var(--_ink); font-weight: 600; font-size: 12.5px }
.grid { stroke: var(--_line) }
.base { stroke: var(--_strong) }
.line { fill: none; stroke: var(--_accent); stroke-width: 2; stroke-linejoin: round }
.area { fill: var(--_accent); opacity: .13 }
.end { fill: var(--_accent); stroke: var(--_surface); stroke-width: 2 }
.bars { fill: var(--_good) }
summary { width: fit-content; padding: 4px 0; color: var(--_soft); font-size: .9em; cursor: pointer }
table { width: 100%; border-collapse: collapse; font-size: .92em }
th, td { padding: 6px 8px; text-align: end; border-top: 1px solid var(--_line) }
th { font-weight: 600 }
th:first-child { text-align: start }
thead th { color: var(--_soft); border: 0 }
@media (forced-colors: active) {
  .line { stroke: LinkText }
  .area, .end { fill: LinkText }
  .bars { fill: CanvasText }
  .plot text { fill: CanvasText }
}
`;
