/** The results as a person reads them. Pure. */
import { type CheckResult, isPassed } from './run-checks.ts';

const WIDTH = 100;

export function describeResults(url: string, results: readonly CheckResult[]): string {
  const lines = [`Holdfast contract check of ${url}`, ''];
  for (const { clause, title, advice, weight, end } of results) {
    switch (end.type) {
      case 'holds':
        lines.push(`  ✓ ${clause}  ${title}`);
        break;
      case 'not_offered':
        lines.push(`  – ${clause}  ${title}`, ...wrap(`not offered: ${end.why}`));
        break;
      case 'broken':
        lines.push(`  ${weight === 'must' ? '✗' : '!'} ${clause}  ${title}`);
        lines.push(...wrap(`saw: ${end.saw}`), ...wrap(`do:  ${advice}`));
        break;
    }
  }
  const count = (type: CheckResult['end']['type'], weight?: 'must' | 'should') =>
    results.filter((one) => one.end.type === type && (weight === undefined || one.weight === weight)).length;
  const parts = [
    `${count('holds')} hold`,
    `${count('broken', 'must')} broken`,
    `${count('broken', 'should')} advised`,
    `${count('not_offered')} not offered`,
  ];
  const verdict = isPassed(results)
    ? 'Holdfast can rely on this server.'
    : 'Holdfast cannot rely on this server yet: fix what is marked ✗.';
  return `${[...lines, '', parts.join(', '), verdict].join('\n')}\n`;
}

function wrap(text: string): readonly string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length > WIDTH - 12) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line, n) => `        ${n === 0 ? '' : '     '}${line}`);
}
